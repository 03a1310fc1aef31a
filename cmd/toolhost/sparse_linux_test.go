package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// sparse puts an executable into the plugin directory that has so many bytes and takes no
// space.
func (w *world) sparse(name string, size int64) string {
	w.t.Helper()
	path := filepath.Join(w.plugins, name)
	require.NoError(w.t, os.WriteFile(path, nil, 0o700)) //nolint:gosec // a program
	if err := os.Truncate(path, size); err != nil {
		w.t.Skip("this file system has no such files:", err)
	}
	return path
}

// A file of terabytes among the plugins does not delay commands, with a lock and without.
func TestSparseExecutable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("# empty")
	big := w.sparse("big", 4<<40)
	refused := "plugin big did not start: it has 4398046511104 bytes"
	begin := time.Now()
	w.run("tools").exits(0).prints("play.echo").says(refused)
	w.run("plugins", "show", "big").exits(0).prints("refused")
	w.run("plugins", "lock").exits(1).says(refused, "big (it is not pinned)")
	w.run("tools").exits(0).prints("play.echo").says("plugin big did not start")
	// What is pinned may have become another file.
	require.NoError(t, errors.Join(os.Remove(filepath.Join(w.plugins, "player")), os.Rename(big, filepath.Join(w.plugins, "player"))))
	w.run("tools").exits(0).says("plugin player did not start: it has 4398046511104 bytes")
	if took := time.Since(begin); took > 20*5*time.Second {
		t.Errorf("five commands took %v", took)
	}
}

// A signal ends a command that hashes: here as much as it takes, in as many files as would
// keep it busy for a minute or more.
func TestSignalEndsHashing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
		w.sparse(name, 2<<30)
	}
	cmd := w.command("tools", "--plugin-dir", w.plugins)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, "it hashes", func() bool { return hasOpenBelow(cmd.Process.Pid, w.plugins) })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var failed *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != 7 {
		t.Errorf("it ended with %v: %s", err, &stderr)
	}
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > 5*time.Second { // of the machine's time
		t.Errorf("it went on for %v", took)
	}
}

// hasOpenBelow reports whether a process has a file of a directory open.
func hasOpenBelow(pid int, dir string) bool {
	links, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && filepath.Dir(path) == dir {
			return true
		}
	}
	return false
}
