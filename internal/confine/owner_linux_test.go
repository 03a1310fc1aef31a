package confine

import (
	"fmt"
	"os"
	"path/filepath"
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

// What cannot be removed at once still says whose it was, so that a later sweep removes it.
func TestSweepAgain(t *testing.T) {
	t.Parallel()
	me, err := self()
	if err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	path := filepath.Join(base, DirPrefix+"dev-1")
	deep := filepath.Join(path, strings.Repeat("d/", 120)) // more than is removed
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	if err := noteOwner(dir, owner{me.pid, me.start - 1, me.space, me.boot}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n := sweepDirectories(t.Context(), base, me); n != 0 {
			t.Fatalf("%d were removed", n)
		}
	}
	if err := dir.RemoveAll("d"); err != nil {
		t.Fatal(err)
	}
	if n := sweepDirectories(t.Context(), base, me); n != 1 {
		t.Errorf("%d were removed, want 1", n)
	}
}
