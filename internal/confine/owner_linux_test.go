package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
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
		assert.Equalf(t, Orphaned(name), want, "%s", name)
	}
}

// A process that has no descriptors left cannot look at others, and takes none of them for dead.
func TestOrphanedWithoutDescriptors(t *testing.T) {
	t.Parallel()
	const alone = "TOOLHOST_TEST_ALONE" // other tests need descriptors
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOrphanedWithoutDescriptors$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	name, err := NewName("fs")
	if err != nil {
		t.Skip(err)
	}
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}))
	_, open := os.Open("/dev/null")
	orphaned := Orphaned(name)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if !errors.Is(open, unix.EMFILE) || orphaned {
		t.Errorf("this process is dead: %v, after %v", orphaned, open)
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
	require.NoError(t, os.MkdirAll(deep, 0o700))
	dir := require.Must(os.OpenRoot(path))(t)
	defer func() { _ = dir.Close() }()
	require.NoError(t, noteOwner(dir, owner{me.pid, me.start - 1, me.space, me.boot}))
	for range 3 {
		if n := sweepDirectories(t.Context(), base, me); n != 0 {
			t.Fatalf("%d were removed", n)
		}
	}
	require.NoError(t, dir.RemoveAll("d"))
	if n := sweepDirectories(t.Context(), base, me); n != 1 {
		t.Errorf("%d were removed, want 1", n)
	}
}
