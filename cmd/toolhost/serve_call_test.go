package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// underway is a command whose call has begun.
type underway struct {
	t       *testing.T
	process *os.Process
	ended   <-chan outcome
	fifo    *os.File // has an end when the tool has let go of it
}

// startCall runs a command, and waits until its tool has opened the FIFO.
func (w *world) startCall(fifo string, args ...string) *underway {
	w.t.Helper()
	process, ended := w.start("", append(args, "--arg", "fifo="+fifo, "--plugin-dir", w.plugins)...)
	u := &underway{w.t, process, ended, openFIFO(w.t, fifo, os.O_RDONLY, ended)}
	w.t.Cleanup(func() { _ = u.fifo.Close() })
	return u
}

// openFIFO opens an end of a FIFO, and fails if no tool opens the other, as when its call has ended before.
func openFIFO(t *testing.T, path string, flag int, ended <-chan outcome) *os.File {
	t.Helper()
	opened := make(chan func(testing.TB) *os.File, 1)
	go func() { opened <- require.Must(os.OpenFile(path, flag, 0)) }()
	select {
	case f := <-opened:
		return f(t)
	case o := <-ended:
		t.Errorf("the call has ended: %d, %s%s", o.status, o.stdout, o.stderr)
	case <-time.After(require.Ceiling):
	}
	both, err := os.OpenFile(path, os.O_RDWR, 0) // which the other end waits for
	require.NoError(t, err)
	_ = (<-opened)(t).Close()
	_ = both.Close()
	t.Fatalf("no tool has opened %s", path)
	return nil
}

// over waits until the tool has ended, wherever it runs.
func (u *underway) over() {
	u.t.Helper()
	if _, err := io.Copy(io.Discard, u.fifo); err != nil {
		u.t.Error(err)
	}
}

// A daemon that is told to end lets a call end, and takes no other.
func TestDaemonDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	until := newFIFO(t)
	u := w.startCall(newFIFO(t), "call", "play.hold", "--log-level", "info", "--arg", "until="+until)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.await("toolhost: ending")
	w.run("call", "play.echo").exits(0).says("it is ending")
	require.NoError(t, os.WriteFile(until, []byte("let go"), 0))
	(<-u.ended).exits(0).prints("let go").says("using the daemon")
	for line := range s.lines {
		s.said = append(s.said, line)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, strings.Join(s.said, "\n"))
	}
	if _, err := os.Lstat(w.socket()); err == nil {
		t.Error("the socket is still there")
	}
}

// A call that does not end is ended, and its caller told why.
func TestDaemonDrainsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve("--drain", "50ms")
	u := w.startCall(newFIFO(t), "call", "play.wait", "--json")
	s.ends(syscall.SIGTERM, 0)
	var out host.Outcome
	(<-u.ended).exits(7).json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeCanceled)
	u.over()
}

// Where the caller goes away, in whatever way, so does its call.
func TestCallerOfADaemonGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		u := w.startCall(newFIFO(t), "call", "play.wait", "--json")
		require.NoError(t, u.process.Signal(sig))
		o := <-u.ended
		if sig != syscall.SIGKILL {
			var out host.Outcome
			o.exits(7).json(&out)
			equal(t, "the code", out.Error.Code, tool.CodeCanceled)
			equal(t, "the plugin", out.Metadata.Plugin, "player") // the daemon reported the outcome
		}
		u.over()
	}
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
}

func TestDaemonDiesInACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	u := w.startCall(newFIFO(t), "call", "play.wait", "--json")
	s.ends(syscall.SIGKILL, -1)
	var out host.Outcome
	(<-u.ended).exits(6).says("ended, or stopped answering, while it ran play.wait", "the outcome of the call is not known").json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeUnavailable)
	u.over()
	// Another one takes its place, and clears up.
	w.serve()
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
}
