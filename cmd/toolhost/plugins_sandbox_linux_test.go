package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
)

// sandboxOf is what a command shows of a sandbox.
func (w *world) sandboxOf(args ...string) *plugin.SandboxStatus {
	w.t.Helper()
	var out struct{ Sandbox *plugin.SandboxStatus }
	w.run(append(args, "--json")...).exits(exit.Done).json(&out)
	return out.Sandbox
}

// What a plugin may do is shown, as it is in force or, of one that does not run, as it would be,
// which is the same. A daemon also knows what was denied.
func TestShowSandbox(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, "player"), t.TempDir()
	w.configure("plugins:", "  player:", "    sandbox: {read: [workspace], write: ["+dir+"], net: [], exec: [], memory: 1GiB}")
	show := []string{"plugins", "show", "player"}
	running := w.sandboxOf(show...)
	if running == nil || !running.InForce || !running.Undeclared || running.Level != plugin.BestEffort || len(running.Lines) == 0 {
		t.Fatalf("of one that runs: %+v", running)
	}
	given := map[string]string{}
	for _, l := range running.Lines {
		given[l.Name] = l.Given
	}
	if !strings.Contains(given["read"], w.root) || given["write"] != dir || given["net"] != "none" || given["exec"] != "none" || given["memory"] != "1 GiB" {
		t.Errorf("it is given %v", given)
	}
	w.run(show...).exits(exit.Done).prints("best-effort, undeclared", "; not running: this is what it would get", "SANDBOX ", " ENFORCED BY ", " NOT ENFORCED", "write ", dir, "memory ")
	foreseen := w.sandboxOf(show...)
	if foreseen.InForce || !reflect.DeepEqual(foreseen.Lines, running.Lines) {
		t.Errorf("without a process %+v\nand with one %+v", foreseen, running)
	}

	w.serve()
	if s := w.sandboxOf(show...); s.InForce || len(s.Denied) > 0 {
		t.Errorf("before the first call the daemon says %+v", s)
	}
	w.run("call", "play.run", `{"program":"/bin/true"}`).exits(exit.Failed)
	s := w.sandboxOf(show...)
	if !s.InForce || !slices.EqualFunc(s.Lines, running.Lines, func(a, b plugin.SandboxLine) bool { return a.Name == b.Name && a.Given == b.Given }) {
		t.Errorf("the daemon says %+v", s)
	}
	if !require.Must(sandbox.Detect())(t).Notify {
		t.Skip("this system does not tell what it refuses")
	}
	w.run("call", "play.run", `{"program":"/bin/true"}`).exits(exit.Failed).says("the sandbox of plugin player denied: exec", "toolhost plugins show player")
	if o := w.run("call", "play.fail").exits(exit.Failed); strings.Contains(o.stderr, "denied") {
		t.Errorf("about a failure that has nothing to do with it: %s", o.stderr)
	}
	w.run(show...).exits(exit.Done).prints("DENIED  COUNT  LAST\nexec    2      20")
	if s := w.sandboxOf(show...); len(s.Denied) != 1 || s.Denied[0].What != "exec" || s.Denied[0].Count != 2 {
		t.Errorf("denied: %+v", s.Denied)
	}
}

// The level is shown, and who decides nothing.
func TestShowSandboxLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("plugins", "show", "player").prints("best-effort, undeclared: what sandbox does not decide is left to it\n")
	w.declares("needy", `{"net":["a.example:443"]}`)
	w.run("plugins", "show", "needy").prints("best-effort\n", "a.example:443")
	w.configure("defaults: {sandbox: {level: none}}")
	w.run("plugins", "show", "player").prints("none: it may do whatever its user may")
	if s := w.sandboxOf("plugins", "show", "player"); s.Level != plugin.NoSandbox || s.Lines != nil {
		t.Errorf("level none: %+v", s)
	}
	w.run("plugins", "disable", "player").exits(exit.Done)
	if s := w.sandboxOf("plugins", "show", "player"); s != nil {
		t.Errorf("a disabled one has %+v", s)
	}
}

// plugins show has it for servers that are programs.
func TestShowSandboxOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, os.Mkdir(filepath.Join(w.root, "data"), 0o700))
	w.configure("mcp_servers:",
		"  open: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [echo]}",
		"  closed: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [echo], sandbox: {read: ["+w.root+"/data], write: [], net: [], exec: []}}",
		"  remote: {url: 'http://127.0.0.1:1/'}")
	w.run("plugins", "show", "open").exits(exit.Done).prints("best-effort, undeclared", "SANDBOX ", "processes ")
	w.run("plugins", "show", "closed").exits(exit.Done).prints("best-effort", w.root+"/data")
	if s := w.sandboxOf("plugins", "show", "remote"); s != nil {
		t.Errorf("a server elsewhere has %+v", s)
	}
	w.serve("--yes")
	foreseen := w.sandboxOf("plugins", "show", "closed")
	w.run("call", "closed.echo", `{"text":"x"}`, "--yes").exits(exit.Done)
	if s := w.sandboxOf("plugins", "show", "closed"); foreseen.InForce || !s.InForce || !reflect.DeepEqual(s.Lines, foreseen.Lines) {
		t.Errorf("without a process %+v\nand with one %+v", foreseen, s)
	}
}

// A plugin, and a server, whose sandbox would be less than at the first start is refused by commands and
// by a daemon, until enable accepts that.
func TestEnableAcceptsLess(t *testing.T) {
	t.Parallel()
	if !require.Must(sandbox.Detect())(t).Namespaces() {
		t.Skip("this system has no namespaces to do without")
	}
	for name, daemon := range map[string]bool{"commands": false, "daemon": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			configure := func(namespace string) {
				w.configure("defaults: {namespace: "+namespace+"}", "mcp_servers:",
					"  echo: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [echo]}")
			}
			calls := func(status int, says ...string) {
				t.Helper()
				w.run("call", "play.echo").exits(status).says(says...)
				w.run("call", "echo.echo", `{"text":"x"}`, "--yes").exits(status).says(says...)
			}
			configure("auto")
			calls(exit.Done)
			w.run("plugins", "show", "player").exits(exit.Done).prints("plugins.player.sandbox closes them")
			w.run("plugins", "show", "echo").exits(exit.Done).prints("mcp_servers.echo.sandbox closes them")
			configure("off")
			if daemon {
				w.serve("--yes")
			}
			calls(exit.Unavailable, "its sandbox would be less than it was at earlier starts here: processes (", "toolhost plugins enable ")
			w.run("plugins", "show", "player").exits(exit.Done).prints("it does not start, as earlier starts enforced more")
			w.run("doctor").exits(exit.Failed).prints("its sandbox would be less than at earlier starts: processes (")
			w.run("plugins", "enable", "player").exits(exit.Done).prints("accepted for player: processes (", "enabled player")
			w.run("plugins", "enable", "echo").exits(exit.Done).prints("accepted for echo: processes (")
			calls(exit.Done)
			w.run("plugins", "enable", "player", "--json").exits(exit.Done).prints(`"changed": false`)
		})
	}
}
