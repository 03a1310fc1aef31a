package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A daemon in the background is ready when the command ends, and goes on. One that does not get ready is an
// error that says why.
func TestServeDetach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	serve := func(args ...string) outcome {
		return w.finish(w.command(append([]string{"serve", "--detach", "--plugin-dir", w.plugins}, args...)...))
	}
	var d detached
	serve("--json").exits(0).json(&d)
	var status daemonStatus
	w.run("status", "--json").exits(0).json(&status)
	equal(t, "the pid", d.PID, status.PID)
	equal(t, "the socket", d.Socket, w.socket())
	equal(t, "the log", d.Log, filepath.Join(w.state, "toolhost", "daemon.log"))
	if text := require.Must(os.ReadFile(d.Log))(t); !strings.Contains(string(text), "ready: 17 tools of 1 plugins") {
		t.Errorf("the log is %s", text)
	}
	serve().exits(exit.Failed).says("another daemon has the socket", "the daemon ended before it was ready (exit status 1)", d.Log)
	w.run("call", "play.echo", "--log-level", "info").exits(0).says("using the daemon")
	w.run("stop").exits(0)
	serve("--root", "/nonexistent").exits(exit.BadUsage).says("/nonexistent", "before it was ready")
	serve().exits(0).says("toolhost: ready: ").prints("serves on "+w.socket(), "logs to "+d.Log)
	w.run("stop").exits(0)
	w.run("serve", "--detach", "--mcp", "stdio").exits(exit.BadUsage).says("--detach has no effect")
}

// Status waits for a daemon that is about to be ready, and no longer than it is told to.
func TestStatusWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("status", "--wait", "100ms").exits(exit.Unavailable).says("after 100ms: no daemon is running")
	_, ended := w.start("", "status", "--wait", "1m", "--plugin-dir", w.plugins)
	w.serve()
	(<-ended).exits(0).prints("well")
}

// Where every plugin is refused, a list of tools is a failure. Each is one line, once.
func TestToolsOfNoPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "quitter", "panicker")
	o := w.run("tools").exits(exit.Unavailable).says("no plugin can be used", "warning: plugin quitter did not start", "(see toolhost plugins show quitter")
	equal(t, "the lines", strings.Count(o.stderr, "\n"), 5) // two plugins, no tool matches, the error and its hint
	if o := w.run("call", "quitter.x").exits(exit.Unavailable); strings.Contains(o.stderr, "warning: plugin quitter") {
		t.Errorf("it is told twice: %s", o.stderr)
	}
	w.install("player", "player")
	w.run("tools").exits(0)
}

// What operators type first is answered with what to write.
func TestTextsOfOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("call", "play.echo", "path=x").exits(exit.Arguments).says("the arguments are not JSON: path=x", "write --arg path=x")
	for text, want := range map[string][2]string{
		`metrics: {address: "0.0.0.0:9464"}`:         {"`0.0.0.0:9464` is not a loopback address with a port (give a loopback address", "an address is"},
		"trust: {publishers: {me: {keys: [RWabc]}}}": {"`RWabc` is not a public key of minisign (give", `""`},
		"callers: {x: {tools: {allow: [*.read]}}}":   {"there is no anchor for *.read (quote it", "the list is empty"},
	} {
		w.found(text + "\n")
		if o := w.bare("config", "check").exits(1).prints(want[0]); strings.Contains(o.stdout, want[1]) {
			t.Errorf("it says %q too: %s", want[1], o.stdout)
		}
	}
	require.NoError(t, os.Remove(w.config()))
	w.run("plugins", "install", "oci://127.0.0.1:1/x/y").exits(exit.Unavailable).says("no registry answers at 127.0.0.1:1")
	w.run("call", "play.echo").exits(0)
	if o := w.run("audit", "verify").exits(0); strings.Contains(o.stdout, "leave no trace") {
		t.Errorf("it says %s", o.stdout)
	}
}
