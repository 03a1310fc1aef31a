package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Tools whose names another plugin has are one line of each command, and the plugins' lists
// say who has whose names. They come back when the other is gone.
func TestLostNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.run("tools").exits(0)
	w.install("fs", "another")
	o := w.run("call", "fs.list", "--grant", "fs:read").exits(0).says("tools of plugin another are not served, as plugin fs has their names: fs.")
	equal(t, "the number of lines", strings.Count(strings.TrimSpace(o.stderr), "\n"), 0)
	w.run("plugins").exits(0).prints("tools of plugin another are not served, as plugin fs has their names")
	w.run("plugins", "show", "another").exits(0).prints("lost names:", "as plugin fs has their names")
	w.run("plugins", "show", "fs").exits(0).prints("won names:", "plugin another wants")
	var shown shownPlugin
	w.run("plugins", "show", "another", "--json").exits(0).json(&shown)
	if len(shown.Lost) == 0 || shown.Lost[0].To != "fs" || len(shown.ToolNames) != 0 {
		t.Errorf("%+v", shown)
	}
	w.serve("--grant", "fs:read")
	require.NoError(t, os.Remove(filepath.Join(w.plugins, "fs")))
	w.until("another has the names", func() bool { return len(w.known("another").Lost) == 0 })
	w.run("call", "fs.list", "--grant", "fs:read", "--json").exits(0).prints(`"plugin": "another"`)
}
