package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// logsDir is where what plugins write is kept.
func (w *world) logsDir() string { return filepath.Join(w.state, "toolhost", journal.Folder) }

// following are the lines of toolhost logs --follow --json.
type following struct {
	t  *testing.T
	in *bufio.Scanner
}

func (w *world) follow(args ...string) *following {
	w.t.Helper()
	cmd := w.command(append([]string{"logs", "--follow", "--json", "--plugin-dir", w.plugins}, args...)...)
	out := require.Must(cmd.StdoutPipe())(w.t)
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return &following{w.t, bufio.NewScanner(out)}
}

// until reads on until a line is of that event, or of none, and has the text.
func (f *following) until(event, text string) (e journal.Entry) {
	f.t.Helper()
	for f.in.Scan() {
		e = journal.Entry{}
		if err := json.Unmarshal(f.in.Bytes(), &e); err != nil {
			f.t.Fatalf("%q: %v", f.in.Text(), err)
		}
		if e.Event == event && strings.Contains(e.Text, text) {
			return e
		}
	}
	f.t.Fatalf("there is no %s with %q: %v", event, text, f.in.Err())
	return e
}

// What plugins write, and what happens to them, is kept whatever the daemon's level is, and shown with a daemon and
// without one: one who follows sees daemons come and go.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("logs").exits(0).says("no lines to show")
	w.run("logs", "player").exits(3).says("nothing is kept of a plugin")
	s := w.serve("--log-level", "error")
	w.run("logs", "plaier").exits(2).says("did you mean player?")
	f := w.follow("player")
	began := f.until(journal.Started, "it is the first time")
	if began.Facts["took"] == "" || began.Facts["root"] == "" || began.PID == 0 {
		t.Errorf("a start: %+v", began)
	}
	w.run("call", "play.exit", `{"status":3}`).exits(6)
	if e := f.until("", "goodbye"); e.PID != began.PID || e.Plugin != "player" || e.Level != "info" {
		t.Errorf("%+v", e)
	}
	if e := f.until("crashed", "exit status 3; it wrote last: goodbye"); !strings.HasPrefix(e.Facts["last_words"], "goodbye") || e.PID != began.PID {
		t.Errorf("%+v", e)
	}
	w.run("call", "play.echo").exits(0)
	f.until(journal.Started, "the last one crashed")
	with := w.run("logs").exits(0).prints("player ", "goodbye", "plugin crashed: exit status 3")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGKILL)) // in the middle of a line, for all it knows
	_ = s.cmd.Wait()
	log := require.Must(os.OpenFile(filepath.Join(w.logsDir(), "player.log"), os.O_APPEND|os.O_WRONLY, 0))(t)
	_ = require.Must(log.WriteString(`{"time":"2026`))(t)
	require.NoError(t, log.Close())
	equal(t, "the same without a daemon", w.run("logs").exits(0).stdout, with.stdout)
	s = w.serve()
	w.run("call", "play.exit", `{"status":4}`).exits(6)
	f.until("", "goodbye")
	f.until("crashed", "exit status 4")
	if o := w.run("logs", "--events", "--since", "1h").exits(0).prints("exit status 3", "exit status 4"); strings.Contains(o.stdout, " info  goodbye") {
		t.Errorf("it has more than events: %s", o.stdout)
	}
	equal(t, "lines of the future", w.run("logs", "--since", "2200-01-01").exits(0).stdout, "")
	equal(t, "the newest", strings.Count(w.run("logs", "-n", "2").exits(0).stdout, "\n"), 2)
	s.ends(15, 0)
	w.run("call", "play.exit", `{"status":5}`).exits(6) // a command that runs the plugin itself
	f.until("crashed", "exit status 5")
	for _, e := range require.Must(os.ReadDir(w.logsDir()))(t) {
		if info := require.Must(e.Info())(t); info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// A state directory that cannot be written stops no plugin and no call, and is said once: the daemon shows what it has.
func TestLogsWithoutFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	require.NoError(t, os.MkdirAll(filepath.Dir(w.logsDir()), 0o700))
	require.NoError(t, os.WriteFile(w.logsDir(), nil, 0o600))
	s := w.serve()
	w.run("call", "play.exit", `{"status":3}`).exits(6)
	w.until("the crash is told", func() bool {
		o := w.run("logs").exits(0)
		return strings.Contains(o.stdout, "goodbye") && strings.Contains(o.stdout, "plugin crashed: exit status 3")
	})
	w.run("logs", "plaier").exits(2).says("did you mean player?")
	w.run("call", "play.echo").exits(0)
	s.ends(15, 0)
	equal(t, "how often it is said", len(slices.DeleteFunc(s.said, func(line string) bool { return !strings.Contains(line, "is not kept in files") })), 1)
}

// Two daemons of a user write to the same files, and each shows what plugins of both did.
func TestLogsOfTwoDaemons(t *testing.T) {
	t.Parallel()
	one, two := newWorld(t, "player"), newWorld(t, "player")
	two.state, two.env = one.state, append(two.env, "XDG_STATE_HOME="+one.state)
	one.serve()
	two.serve()
	f := one.follow("player")
	one.run("call", "play.exit", `{"status":3}`).exits(6)
	first := f.until("crashed", "exit status 3")
	two.run("call", "play.exit", `{"status":4}`).exits(6)
	if second := f.until("crashed", "exit status 4"); second.PID == first.PID {
		t.Errorf("%+v and %+v are of one process", first, second)
	}
	for _, w := range []*world{one, two} {
		w.run("logs", "player").exits(0).prints("goodbye", "exit status 3", "exit status 4")
		o := w.run("logs", "--events", "--since", first.Time.Add(1).Format(time.RFC3339Nano)).exits(0).prints("exit status 4")
		assert.NotContainsf(t, o.stdout, "exit status 3", "it has what is older")
		equal(t, "the events of a plugin, by the API", strings.ReplaceAll(w.watched(&daemonv1.WatchRequest{Plugin: "player", Events: true}), "open ", ""), "started started crashed crashed")
		equal(t, "since the first", w.watched(&daemonv1.WatchRequest{Events: true, Since: timestamppb.New(first.Time.Add(1))}), "crashed")
		equal(t, "of no plugin", w.watched(&daemonv1.WatchRequest{Plugin: "absent", Events: true}), "")
	}
}

// watched are the kinds of the events that the API streams.
func (w *world) watched(r *daemonv1.WatchRequest) string {
	w.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.socket())
	}
	c := daemonv1.NewDaemonClient(&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}, "http://daemon")
	in := require.Must(c.Watch(w.t.Context(), r))(w.t)
	var kinds []string
	for in.Receive() {
		kinds = append(kinds, in.Msg().GetLine().GetEvent())
	}
	require.NoError(w.t, in.Err())
	return strings.Join(kinds, " ")
}
