package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// flock locks a file as flock(1) does, until the function it returns is called.
func flock(t *testing.T, path string, how int) (release func()) {
	t.Helper()
	file := require.Must(os.Open(path))(t)
	require.NoError(t, unix.Flock(int(file.Fd()), how|unix.LOCK_NB))
	return func() { // a process that another test is starting may still have the descriptor
		_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
		_ = file.Close()
	}
}

// Whoever can read the log can lock it, and keeps no call from its record. A process
// with the right to write it can hold it up: a daemon writes when it is free.
func TestLogIsLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	log := filepath.Join(w.state, "toolhost", "audit.jsonl")
	w.run("call", "play.echo").exits(0)
	release := flock(t, log, unix.LOCK_SH)
	w.run("call", "play.echo").exits(0)
	if n := len(w.recorded(log)); n != 2 {
		t.Errorf("%d lines of 2 calls", n)
	}
	release()

	s := w.serve()
	w.run("call", "play.echo").exits(0)
	release = flock(t, log+".lock", unix.LOCK_SH)
	const calls = 5
	for range calls {
		w.run("call", "play.echo").exits(0)
	}
	release()
	require.NoError(t, s.cmd.Process.Signal(unix.SIGTERM))
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	if n := len(w.recorded(log)); n != 3+calls {
		t.Errorf("%d lines of %d calls", n, 3+calls)
	}
	w.run("audit", "verify").exits(0)

	// One that works alone says what could not be written.
	release = flock(t, log+".lock", unix.LOCK_EX)
	w.run("call", "play.echo").exits(0).says("another process keeps it locked", "are lost", "audit.jsonl.lock open")
	release()
}

// recorded are the lines of a log.
func (w *world) recorded(log string) []string {
	w.t.Helper()
	content := require.Must(os.ReadFile(log))(w.t)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}
