package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// hangUp sends the signal that means reload.
func (s *serving) hangUp() {
	s.w.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.w.t.Fatal(err)
	}
}

// status is what the daemon says of a plugin.
func (w *world) status(name string) plugin.Status {
	w.t.Helper()
	all := w.client().State().Plugins
	s, ok := session.Status(all, name)
	if !ok {
		w.t.Fatalf("there is no %s in %+v", name, all)
	}
	return s
}

// A daemon follows its file: what the file says of tools, callers and plugins holds
// from then on, and processes that need not be others stay.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.write("a.txt", "text")
	w.configure("# nothing")
	s := w.serve()
	read := []string{"call", "fs.read", `{"path":"a.txt"}`, "--log-level", "info"}
	w.run(read...).exits(5).says("using the daemon")
	w.run("call", "play.danger").exits(5)
	before, other := w.status("player"), w.status("fs")

	w.configure("callers:", "  cli:", "    grants: [fs:read]", "    approval: \"yes\"")
	s.await("toolhost: reloaded: caller cli")
	w.run(read...).exits(0).says("using the daemon")
	w.run("call", "play.danger").exits(0)

	w.configure("tools:", "  play.echo: {rename: play.back}", "callers:", "  cli:", "    grants: [fs:read]", "    tools: {deny: [fs.list]}")
	s.await("toolhost: reloaded: tool play.echo; caller cli")
	o := w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("play.back", "fs.read")
	if strings.Contains(o.stdout, "fs.list") || strings.Contains(o.stdout, "play.echo") {
		t.Errorf("the tools are\n%s", o.stdout)
	}
	w.run("call", "fs.list").exits(3)
	w.run("call", "play.danger").exits(5)
	equal(t, "the process", w.status("player").PID, before.PID)

	w.configure("plugins:", "  player: {arguments: [one]}")
	s.await("toolhost: reloaded: plugin player: arguments; tool play.echo; caller cli")
	w.run("call", "play.echo").exits(0)
	if now := w.status("player"); now.PID == before.PID {
		t.Errorf("it is the same process by other arguments: %+v", now)
	}
	equal(t, "the process of fs", w.status("fs").PID, other.PID)

	w.configure("plugins:", "  player: {enabled: false}")
	s.await("toolhost: reloaded: plugin player: arguments, enabled")
	equal(t, "the state", w.status("player").State, plugin.Disabled)
	w.run("call", "play.echo").exits(3)

	w.configure("log_level: info")
	s.await("toolhost: reloaded: log_level; plugin player: enabled")
	s.await("[INFO]")
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
}

// A process that was started in one sandbox does not serve in another one.
func TestReloadOfASandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.configure("# nothing")
	s := w.serve()
	w.run("call", "play.echo").exits(0)
	w.run("call", "fs.list", "--grant", "fs:read").exits(5)
	player, fs := w.status("player"), w.status("fs")
	w.configure("plugins:", "  player: {sandbox: {files: 1024}}")
	s.await("toolhost: reloaded: plugin player: sandbox")
	w.run("call", "play.echo").exits(0)
	if now := w.status("player"); now.PID == player.PID {
		t.Errorf("it is the same process in another sandbox: %+v", now)
	}
	equal(t, "the process of fs", w.status("fs").PID, fs.PID)
}

// until is [require.Eventually] for what a daemon or a command is asked, which takes more of the machine
// than to look: it asks each 20 ms.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	require.Eventually(w.t, what, func() bool {
		if holds() {
			return true
		}
		<-tick.C
		return false
	})
}

// A bad file changes nothing and says why, also if only the last thing in it is bad.
func TestReloadOfABadFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "quitter")
	good := []string{"callers:", "  cli: {approval: \"yes\"}", "plugins:", "  player: {arguments: [one]}"}
	w.configure(good...)
	s := w.serve()
	w.run("--log-level", "info", "call", "play.danger").exits(0).says("using the daemon")
	before := w.status("player")
	bad := "the configuration was not reloaded, and nothing has changed: " + w.config()
	for name, c := range map[string]struct {
		lines []string
		says  string
	}{
		"a word":                   {[]string{"callers:", "  cli: {approval: \"no\"}", "nonsense: 1"}, ":3:1: nonsense: unknown key"},
		"no YAML":                  {[]string{"callers: {cli: {approval: \"no\"}", "a"}, ":"},
		"a reference":              {[]string{"callers:", "  cli: {approval: \"no\"}", "plugins:", "  player:", "    environment: {A: {from_env: NOT_THERE}, B: hunter2}"}, ":5:"},
		"a path that is not there": {[]string{"callers:", "  cli: {approval: \"no\"}", "plugins:", "  player: {sandbox: {read: [nowhere]}}"}, ":4:29: plugins.player.sandbox.read[0]: there is no "},
		"a host that is too wide":  {[]string{"callers:", "  cli: {approval: \"no\"}", "defaults: {sandbox: {net: [\"*:443\"]}}"}, ":3:28: defaults.sandbox.net[0]: "},
		"what needs a new start":   {[]string{"callers:", "  cli: {approval: \"no\"}", "root: .."}, ":3:7: root: a running daemon cannot change it"},
		"a name that is taken":     {[]string{"callers:", "  cli: {approval: \"no\"}", "tools:", "  play.echo: {rename: play.fail}"}, ":4:3: tools."},
		"what a plugin refuses":    {[]string{"callers:", "  cli: {approval: \"no\"}", "plugins:", "  player: {config: {depth: 3}}"}, ":4:20: plugins.player.config: plugin player did not start"},
		"what this version cannot": {[]string{"callers:", "  cli: {approval: \"no\", uid: 7}"}, ":2:30: callers.cli.uid: cli is the user"},
	} {
		w.configure(c.lines...)
		s.await(bad + c.says)
		w.run("--log-level", "info", "call", "play.danger").exits(0).says("using the daemon")
		state := w.client().State()
		p, _ := session.Status(state.Plugins, "player")
		if p.PID != before.PID || p.Starts != before.Starts {
			t.Errorf("%s: the plugin was %+v and is %+v", name, before, p)
		}
		if last := len(state.Faults) - 1; last < 0 || !strings.Contains(state.Faults[last].Message, bad+c.says) {
			t.Errorf("%s: the daemon does not tell of it: %+v", name, state.Faults)
		}
		w.configure(good...)
		s.await("toolhost: reloaded: nothing has changed in " + w.config())
		w.run("--log-level", "info", "call", "play.danger").exits(0).says("using the daemon")
	}
	assert.NotContainsf(t, strings.Join(s.said, "\n"), "hunter2", "the log tells a secret")
	require.NoError(t, os.Remove(w.config()))
	s.hangUp()
	s.await(bad + " is gone")
	equal(t, "the process", func() int { p, _ := session.Status(w.client().State().Plugins, "player"); return p.PID }(), before.PID)
}

// A prohibition with a typing error prohibits nothing, and whoever loads the file is told so.
func TestProhibitionOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	lines := []string{
		"tools:", "  play.dangr: {disable: true}", "  play.ehco: {approval: deny}", "  play.fail: {disable: true}",
		"plugins: {plaier: {enabled: false}}",
		"callers:", "  cli: {tools: {deny: [play.eccho, play.f*, 'nothing.*']}}", "  other: {tools: {allow: ['paly.*']}}",
	}
	told := []string{
		`:2: tools."play.dangr": there is no tool play.dangr`, "did you mean play.danger?", `:3: tools."play.ehco": there is no tool play.ehco`,
		":5: plugins.plaier: there is no plugin plaier", "did you mean player?",
		":7: callers.cli.tools.deny: no tool matches play.eccho", "did you mean play.echo?",
		":7: callers.cli.tools.deny: no tool matches nothing.*", ":8: callers.other.tools.allow: no tool matches paly.*",
	}
	w.configure(lines...)
	says := func(o outcome, text string) {
		t.Helper()
		for _, part := range told {
			assert.Containsf(t, text, part, "not told: %s in", part)
		}
		assert.NotContainsf(t, text, "play.f", "what matches is told")
	}
	o := w.run("--no-daemon", "call", "play.echo").exits(0)
	says(o, o.stderr)
	w.configure("# nothing")
	s := w.serve()
	w.run("status").exits(0)
	w.configure(lines...)
	s.await("toolhost: reloaded: ")
	o = w.run("reload").exits(0)
	says(o, o.stderr)
	o = w.run("status").exits(1)
	says(o, o.stdout)
	o = w.run("doctor").exits(1)
	says(o, o.stdout)
	w.configure("tools: {play.danger: {disable: true}}", "callers: {cli: {tools: {deny: [play.danger, 'play.e*']}}}")
	w.run("reload").exits(0)
	w.run("status").exits(0)
}

// A secret that has changed is taken with a hang-up, and not shown.
func TestReloadOfASecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	secret := func(text string) { w.replace("secret", text) }
	secret("hunter2")
	w.configure("plugins:", "  player:", "    environment: {KEY: {from_file: secret}}")
	s := w.serve("--log-level", "trace")
	has := func(text string) bool {
		var out struct{ Found int }
		w.run("--log-level", "info", "call", "play.peek", "--arg", "text="+text).exits(0).says("using the daemon").json(&out)
		return out.Found > 0
	}
	equal(t, "it has the secret", has("KEY=hunter2"), true)
	secret("hunter3")
	s.hangUp()
	s.await("toolhost: reloaded: plugin player: a value that environment refers to")
	equal(t, "it has the new secret", has("KEY=hunter3"), true)
	s.ends(syscall.SIGTERM, 0)
	assert.NotContainsf(t, strings.Join(s.said, "\n"), "hunter", "the log tells a secret")
}

// The file is found again whatever editors do with it, even after it was gone.
func TestReloadFollowsTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon")
	named := func(name string) []byte { return []byte("tools: {play.echo: {rename: " + name + "}}\n") }
	file := func(path, name string) {
		t.Helper()
		w.trust(string(named(name)))
		require.NoError(t, os.WriteFile(path, named(name), 0o600))
	}
	changed := func(name string) {
		t.Helper()
		s.await("toolhost: reloaded: tool play.echo")
		w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints(name)
	}
	file(w.config(), "made")
	changed("made")
	file(w.config(), "written")
	changed("written")
	w.trust(string(named("replaced")))
	w.replace(session.DefaultConfig, string(named("replaced")))
	changed("replaced")
	elsewhere := filepath.Join(t.TempDir(), "real.yaml")
	file(elsewhere, "linked")
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(w.root, "link")))
	require.NoError(t, os.Rename(filepath.Join(w.root, "link"), w.config()))
	changed("linked")
	file(elsewhere, "behind.the.link")
	changed("behind.the.link")
	w.run("--log-level", "info", "tools", "--config", elsewhere).exits(0).says("using the daemon")
	file(filepath.Join(w.root, "other.yaml"), "other")
	w.run("tools", "--config", "other.yaml").exits(0).prints("other").says("its configuration is " + elsewhere)
}

// Where the socket is, the file says too; flags of the daemon go before it.
func TestConfigOfTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	socket := filepath.Join(w.tmp, "named.sock")
	w.configure("socket: "+socket, "defaults: {idle_time: 1s}", "root: /nowhere")
	s := w.begin("--root", w.root)
	s.await(" plugins on " + socket)
	w.run("--log-level", "info", "call", "play.echo", "--root", ".").exits(0).says(fmt.Sprintf("using the daemon (pid %d)", s.cmd.Process.Pid))
	w.until("the plugin rests", func() bool {
		return require.Must(control.Dial(t.Context(), socket, false))(t).State().Plugins[0].State == plugin.Idle
	})
	// Another root in the file does not matter where a flag names it.
	w.configure("socket: "+socket, "defaults: {idle_time: never}", "root: /elsewhere")
	s.await("toolhost: reloaded: root; defaults: idle_time")
}

// Events of other files in the directory do not hide a change of the file.
func TestReloadNextToABusyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("# nothing")
	s := w.serve()
	end, busy := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(busy)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_ = os.WriteFile(filepath.Join(w.root, "busy"), nil, 0o600)
			case <-end:
				tick.Stop()
				return
			}
		}
	}()
	w.configure("tools: {play.echo: {disable: true}}")
	s.await("toolhost: reloaded: tool play.echo")
	close(end)
	<-busy
}
