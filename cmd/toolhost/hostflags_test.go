package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

func TestPluginDirectoryMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, words := range [][]string{{"tools"}, {"plugins"}, {"call", "fs.read"}, {"demo"}, {"tools", "show", "fs.read"}} {
		w.bare(append(words, "--plugin-dir", missing)...).exits(2).
			says("toolhost: there is no plugin directory "+missing+" (from --plugin-dir)", "\n  make it and copy plugin binaries into it")
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	w.bare("tools", "--plugin-dir", file).exits(2).says("there is no plugin directory " + file)
}

func TestPluginDirectoryFromEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.env = append(w.env, "TOOLHOST_PLUGIN_DIR="+string(filepath.ListSeparator)+w.plugins)
	w.bare("tools").exits(0).prints("play.echo")

	missing := filepath.Join(w.root, "nowhere")
	w.env = append(w.env, "TOOLHOST_PLUGIN_DIR="+w.plugins+string(filepath.ListSeparator)+missing)
	w.bare("tools").exits(2).says("there is no plugin directory " + missing + " (from TOOLHOST_PLUGIN_DIR)")
	w.run("tools").exits(0) // the flag goes before the variable
}

func TestPluginDirectoryDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := t.TempDir()
	w.env = append(w.env, "XDG_DATA_HOME="+data)
	dir := filepath.Join(data, "toolhost", "plugins")
	w.bare("tools").exits(2).says("there is no plugin directory: looked for "+filepath.Join(built.dir, "plugins")+" and "+dir, "make one of them")

	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, os.Link(filepath.Join(built.dir, "player"), filepath.Join(dir, "player")))
	w.bare("tools").exits(0).prints("play.echo")
}

func TestPluginDirectoryEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.run("tools").exits(0).says("no plugins in " + w.plugins + ": install one with toolhost plugins install REF")
	equal(t, "standard output", o.stdout, "")
	o = w.run("tools", "--json").exits(0)
	equal(t, "standard output", o.stdout, "[]\n")
	var list pluginList
	w.run("plugins", "--json").exits(0).prints(`"plugins": []`, `"skipped": []`).json(&list)
	w.run("call", "fs.read").exits(3).says("toolhost: Unknown tool: fs.read")
	w.run("demo").exits(6).says("neither the plugin fs nor introspection is in "+w.plugins, "make run", "--plugin-dir")
}

func TestPluginDirectoryOthersMayWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	require.NoError(t, os.Chmod(w.plugins, 0o777)) //nolint:gosec // that is what is tested
	w.run("tools").exits(6).says("others may write", "chmod go-w")

	good := newWorld(t, "player")
	good.run("tools", "--plugin-dir", w.plugins).exits(0).prints("play.echo").says("warning: ", "others may write")
}

func TestRootMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("tools", "--root", filepath.Join(t.TempDir(), "nowhere")).exits(2).
		says("is not a directory", "--root")
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("tools", "--log-level", "loud").exits(2).says(`unknown log level "loud"`, "trace, debug")
	o := w.run("tools", "--log-level", "debug", "--json").exits(0).says("plugin started")
	var tools []shownTool
	o.json(&tools)
	o = w.run("tools").exits(0)
	equal(t, "standard error", o.stderr, "")
}
