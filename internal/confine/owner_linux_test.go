package confine

import (
	"fmt"
	"strings"
	"testing"
)

// Only what certainly was a dead host's is an orphan.
func TestOrphaned(t *testing.T) {
	t.Parallel()
	me, err := self()
	if err != nil {
		t.Skip(err)
	}
	own, err := NewName("a/b\n../ü-" + strings.Repeat("x", 300))
	if err != nil || strings.ContainsAny(own, "/\n") || len(own) > 200 || Orphaned(own) {
		t.Errorf("%q: %v", own, err)
	}
	if again, err := NewName("fs"); err != nil || again == own || !strings.HasSuffix(again, "-fs") {
		t.Errorf("%q: %v", again, err)
	}
	before := owner{me.pid, me.start - 1, me.space, me.boot} // had this process's number
	for name, want := range map[string]bool{
		DirPrefix + before.String() + "-1-fs":  true,
		DirPrefix + before.String() + "-1-a-b": true,
		DirPrefix + before.String():            false,
		before.String() + "-1-fs":              false,
		DirPrefix + "host":                     false,
		DirPrefix + "x-1-fs":                   false,
		DirPrefix + fmt.Sprintf("%d.%d.%s-1-fs", me.pid, before.start, me.space):  false,
		DirPrefix + owner{me.pid, before.start, "1", me.boot}.String() + "-1-fs":  false,
		DirPrefix + owner{me.pid, before.start, me.space, "0"}.String() + "-1-fs": false,
	} {
		if got := Orphaned(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
