package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A plugin whose newer file does not start serves on, alone and in a daemon, and the lists say
// so; the operator goes back to the binary before, and to the file.
func TestRollbackPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	exchange := func(binary string) {
		t.Helper()
		w.install(binary, ".new")
		require.NoError(t, os.Rename(filepath.Join(w.plugins, ".new"), filepath.Join(w.plugins, "player")))
	}
	w.run("tools").exits(0).prints("play.echo")
	exchange("quitter")
	w.run("call", "play.echo", "--arg", "text=x").exits(0).says("was not upgraded, and runs on as it was", "no license")
	w.run("plugins").exits(0).prints("not upgraded: ", "no license")
	w.run("plugins", "show", "player").exits(0).prints("upgrade:", "kept:", " serves")
	w.serve()
	w.run("call", "play.echo", "--arg", "text=x").exits(0)
	w.run("plugins", "restart", "player").exits(6).says("no license")
	w.run("plugins", "rollback", "player").exits(6).says("no earlier binary of it is kept")
	w.run("plugins", "rollback", "plaier").exits(2).says("did you mean player?")

	exchange("buffer")
	w.until("the new file serves", func() bool { s := w.known("player"); return s.Upgrade == "" && len(s.Kept) == 2 })
	w.run("call", "play.echo", "--arg", "text=x").exits(3)
	w.run("plugins", "rollback", "player").exits(0).prints("rolled back player")
	w.run("call", "play.echo", "--arg", "text=x").exits(0)
	w.run("plugins").exits(0).prints("rolled back: ")
	w.run("plugins", "--no-daemon").exits(0).prints("rolled back: ")
	w.run("plugins", "restart", "player", "--no-daemon").exits(0)
	w.run("plugins", "rollback", "player", "--no-daemon", "--json").exits(0).prints("rolled_back")
	w.run("plugins", "restart", "player").exits(0)
	w.run("call", "play.echo", "--arg", "text=x").exits(3)
}
