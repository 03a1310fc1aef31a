package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// put copies one of the built binaries into the plugin directory as an operator does
// who knows what he does: in one step.
func (w *world) put(binary, as string, version ...byte) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(built.dir, binary))
	text = append(text, version...)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.plugins, "."+as), text, 0o755) //nolint:gosec // a program
	}
	if err == nil {
		err = os.Rename(filepath.Join(w.plugins, "."+as), filepath.Join(w.plugins, as))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// known is what the daemon says of a plugin; zero: nothing.
func (w *world) known(name string) plugin.Status {
	w.t.Helper()
	s, _ := session.Status(w.client().State().Plugins, name)
	return s
}

// An operator's day: from an empty directory to plugins that were upgraded, configured,
// pinned and withdrawn under load, with a daemon that is driven by files and commands
// alone, and that callers have not missed for a moment.
func TestAnOperatorsDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a.txt", "text")
	config := filepath.Join(t.TempDir(), "toolhost.yaml") // not in the workspace, so it is followed
	set := func(content string) {
		require.NoError(t, os.WriteFile(config, []byte(content), 0o600))
	}
	w.env = append(w.env, session.ConfigVariable+"="+config)

	// In the morning there is nothing.
	w.run("config", "init", config).exits(0)
	w.run("config", "check", config).exits(0)
	day := w.serve("--grant", "fs:read")
	w.run("tools").exits(0).says("no plugins in")

	// A binary is copied in, and serves; so does a second one. A third is none.
	w.put("fs", "fs")
	w.until("fs serves", func() bool { return w.client().State().Tools == 9 }) // a plugin tells its tools before callers have them
	w.run("--log-level", "info", "call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read").exits(0).says("using the daemon").prints("text")
	w.put("player", "player")
	w.put("quitter", "quitter")
	w.until("player serves", func() bool { return w.known("player").Tools > 0 })
	w.until("quitter is refused", func() bool { return w.known("quitter").State == plugin.Refused })
	w.run("plugins", "show", "quitter").exits(0).prints("refused", "no license")
	w.remove("quitter")
	w.until("quitter is gone", func() bool { return w.known("quitter").Name == "" })

	// At noon, under load, it is upgraded again and again. Callers do not notice.
	read := control.Call{Name: "fs.read", Arguments: []byte(`{"path":"a.txt"}`), Grants: []tool.Capability{tool.FSRead}}
	stops := []func() int64{w.load(read), w.load(read)}
	for version := range byte(2) {
		before := w.known("fs").PID
		w.put("fs", "fs", version) // the same bytes would not be started again
		if o := w.run("call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read").exits(0); o.stdout != "text" {
			t.Errorf("a call under upgrades answers %q", o.stdout)
		}
		w.until("the new one serves", func() bool { s := w.known("fs"); return s.PID != before && s.State == plugin.Ready })
	}
	before := w.known("fs").PID
	w.put("quitter", "fs") // a version that does not start
	w.until("it was tried", func() bool { return strings.Contains(w.known("fs").Upgrade, "exit status 3") })
	if s := w.known("fs"); s.PID != before || s.State != plugin.Ready {
		t.Errorf("the one before it: %+v", s)
	}
	w.put("fs", "fs")
	w.until("the good one is back", func() bool { return w.known("fs").Upgrade == "" })
	for _, stop := range stops {
		if stop() == 0 {
			t.Error("there was no load")
		}
	}

	// The configuration changes, well and badly.
	set("tools:\n  play.echo: {safety: dangerous}\n  play.blob: {disable: true}\nplugins:\n  player: {idle_time: 1s}\n")
	day.await("toolhost: reloaded: ")
	w.run("tools", "show", "play.echo").exits(0).prints("dangerous (claimed: safe)")
	w.run("call", "play.echo").exits(5).says("tool play.echo needs approval")
	w.run("call", "play.blob").exits(3).says("disabled")
	set("tools:\n  play.echo: {safetyy: safe}\n")
	day.await("toolhost.yaml:2:")
	w.run("config", "check", config).exits(1).prints("safetyy", "did you mean")
	w.run("call", "play.echo").exits(5).says("toolhost.yaml:2:", "the daemon goes by what it read before")
	set("plugins:\n  player: {idle_time: 1s}\n")
	day.await("toolhost: reloaded: ")
	w.run("call", "play.echo").exits(0)
	w.until("player is at rest", func() bool { return w.known("player").State == plugin.Idle })
	w.run("call", "play.echo").exits(0)

	// What is there is pinned; what is not as pinned does not run, until it is accepted.
	w.run("plugins", "lock").exits(0).prints("2 plugins are pinned")
	w.run("plugins", "lock", "--check").exits(0)
	before = w.known("fs").PID
	w.put("introspection", "fs")
	w.until("it was refused", func() bool { return strings.Contains(w.known("fs").Upgrade, "toolhost.lock") })
	equal(t, "the process", w.known("fs").PID, before)
	w.run("plugins", "lock", "--check").exits(1).prints("fs")
	w.run("plugins", "lock", "--yes").exits(0) // it needs more
	w.until("it runs", func() bool { s := w.known("fs"); return s.Tools > 6 && s.PID != before })

	// The directory goes away and comes back; a plugin is taken out.
	require.NoError(t, os.Rename(w.plugins, w.plugins+"-away"))
	day.await("there is no plugin directory")
	equal(t, "the state of fs meanwhile", w.known("fs").State, plugin.Ready)
	require.NoError(t, os.Rename(w.plugins+"-away", w.plugins))
	w.remove("fs")
	w.until("fs is gone", func() bool { return w.known("fs").Name == "" })
	w.run("call", "fs.read").exits(3)

	// In the evening it ends, and leaves nothing; see leftNothing.
	day.ends(syscall.SIGTERM, 0)
	w.run("audit", "verify").exits(0)
	w.run("audit", "--tool", "fs.read", "--json").exits(0).prints(fmt.Sprintf("%q", "fs.read"))
}

// remove takes a plugin's file out of the directory.
func (w *world) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, os.Remove(filepath.Join(w.plugins, name)))
}
