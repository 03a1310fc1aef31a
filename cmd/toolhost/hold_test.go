package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Where new plugins are held, one that was never enabled is listed and not run, in
// commands alone and in the daemon.
func TestHoldNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("hold_new: true")
	show := func(name string) plugin.Status {
		t.Helper()
		var s shownPlugin
		w.run("plugins", "show", name, "--json").exits(0).json(&s)
		return s.Status
	}
	w.run("call", "play.echo").exits(3) // nothing is known yet
	if s := show("player"); s.State != plugin.Disabled || s.Reason != "new: toolhost plugins enable player runs it" {
		t.Errorf("it is %+v", s)
	}
	w.run("plugins", "enable", "player").exits(0).prints("enabled player\n")
	w.run("call", "play.echo").exits(0)

	s := w.serve("--log-level", "info")
	evil := w.script("evil")
	w.until("the new one is listed", func() bool {
		_, there := session.Status(w.client().State().Plugins, "evil")
		return there
	})
	s.hangUp()
	s.await("toolhost: reloaded: ")
	w.run("--log-level", "info", "plugins").exits(0).says("using the daemon").prints("toolhost plugins enable evil")
	w.ran(evil, false)
	before := w.status("player")

	// It is the plugin of that directory that was enabled, and not its namesake.
	other := t.TempDir()
	require.NoError(t, os.Link(filepath.Join(built.dir, "player"), filepath.Join(other, "player")))
	w.bare("call", "play.echo", "--plugin-dir", other).exits(3)

	w.run("plugins", "enable", "evil").exits(6).says("plugin evil did not start") // it never does
	w.ran(evil, true)                                                             // the daemon was told
	equal(t, "the process of the other", w.status("player").PID, before.PID)
	w.run("plugins", "disable", "player").exits(0)
	equal(t, "its reason", w.status("player").Reason, "")
	w.run("plugins", "enable", "player").exits(0)
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")

	w.configure("hold_new: false")
	s.await("toolhost: reloaded: hold_new")
}

// What cannot be read decides nothing, and what is held is not pinned.
func TestHoldNewFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("plugins", "enable", "player").exits(0)
	w.configure("hold_new: true")
	evil := w.script("evil")
	w.run("plugins", "lock").exits(0).prints("1 plugin is pinned")
	w.run("plugins", "lock", "--check").exits(1).prints("evil: not pinned")
	w.ran(evil, false)
	file := filepath.Join(w.state, "toolhost", known.FileName)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	w.run("call", "play.echo").exits(2).says(known.FileName, "mend or remove")
	w.removeFile(file)
	w.run("call", "play.echo").exits(3)
}
