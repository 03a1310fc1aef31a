package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A plugin that is switched off has no tools, in commands alone and in the daemon,
// until it is switched on.
func TestPluginsDisable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	state := func() plugin.State {
		var list struct{ Plugins []plugin.Status }
		w.run("plugins", "--json").exits(0).json(&list)
		s, _ := session.Status(list.Plugins, "player")
		return s.State
	}
	w.run("call", "play.echo").exits(0)
	w.run("plugins", "disable", "player").exits(0).prints("disabled player\n")
	w.run("call", "play.echo").exits(3)
	w.run("tools", "show", "play.echo").exits(3).says("plugins that are disabled")
	w.run("tools", "show", "fs.read").exits(0)
	equal(t, "the state", state(), plugin.Disabled)
	w.run("plugins", "disable", "player").exits(0) // it is
	w.run("plugins", "enable", "player").exits(0).prints("enabled player\n")
	w.run("call", "play.echo").exits(0)
	w.run("plugins", "enable", "plyer").exits(2).says("there is no plugin plyer", "did you mean player")

	w.write("toolhost.yaml", "plugins:\n  player: {enabled: false}\n")
	w.run("plugins", "enable", "player", "--config", filepath.Join(w.root, "toolhost.yaml")).exits(2).says("by the configuration file")

	file := filepath.Join(w.state, "toolhost", "plugins.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	w.run("tools").exits(2).says("plugins.json", "mend or remove")
}
