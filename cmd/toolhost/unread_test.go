package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A file that was broken while the daemon runs keeps no command from the daemon, which goes by
// what it read before. Nothing runs without the daemon.
func TestBrokenConfigKeepsTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	away := t.TempDir()
	file := filepath.Join(away, "named.yaml")
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	good := "root: " + w.root + "\nplugin_dirs: [" + w.plugins + "]\naudit: {path: " + filepath.Join(w.state, "log.jsonl") + "}\n"
	write(good + "tools: {play.blob: {disable: true}}\n")
	s := &serving{w: w, cmd: w.command("serve", "--config", file), lines: make(chan string, 10000)} // its flags say nothing
	s.start()
	s.await("toolhost: ready: ")
	w.bare("call", "play.echo", "--config", file).exits(0)

	write(good + "nonsense: 1\n")
	s.await("nothing has changed: " + file)
	for _, args := range [][]string{
		{"call", "play.echo"}, {"tools"}, {"plugins"}, {"plugins", "show", "player"}, {"plugins", "restart", "player"},
		{"tools", "--for", "mcp"}, {"audit"}, {"sessions"},
	} {
		o := w.bare(append(args, "--config", file)...).exits(0)
		if n := strings.Count(o.stderr, file+":4:1"); n != 1 {
			t.Errorf("%q says %d times that the file is broken:\n%s", args, n, o.stderr)
		}
	}
	w.bare("audit", "--config", file).exits(0).prints("play.echo")
	w.bare("call", "play.blob", "--config", file).exits(3) // what the daemon was told stays in force
	w.bare("call", "play.danger", "--yes", "--config", file).exits(5).says("the daemon does not accept --yes")

	broken := file + ":4:1: nonsense: unknown key"
	for _, args := range [][]string{
		{"call", "play.echo", "--no-daemon"}, {"tools", "--root", away}, {"tools", "--plugin-dir", away},
		{"tools", "--socket", filepath.Join(w.tmp, "none.sock")}, {"audit", "--no-daemon"},
		{"plugins", "lock"}, {"plugins", "restart", "player", "--no-daemon"},
	} {
		o := w.bare(append(args, "--config", file)...)
		if o.status != 2 || args[1] != "restart" && !strings.Contains(o.stderr, broken) {
			t.Errorf("%q exits with %d:\n%s", args, o.status, o.stderr)
		}
	}
	// The daemon of one file is not that of another, broken or not.
	other := filepath.Join(away, "other.yaml")
	require.NoError(t, os.WriteFile(other, []byte("nonsense: 1\n"), 0o600))
	w.bare("tools", "--config", other).exits(2).says("its configuration is "+file, other+":1:1: nonsense")
}

// Where the file does not name the root, the directory of the command does, broken file or not.
func TestBrokenConfigAndAnotherRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	file := filepath.Join(t.TempDir(), "named.yaml")
	require.NoError(t, os.WriteFile(file, []byte("# nothing\n"), 0o600))
	s := w.serve("--config", file)
	require.NoError(t, os.WriteFile(file, []byte("nonsense: 1\n"), 0o600))
	s.await("nothing has changed: " + file)
	w.run("tools", "--config", file).exits(0)
	elsewhere := *w
	elsewhere.root = t.TempDir()
	elsewhere.run("tools", "--config", file).exits(2).says("its root is " + w.root)
}

// A file that was trusted and then changed takes nothing back: commands stay with the daemon,
// which goes by what was trusted.
func TestChangedFileKeepsTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("tools: {play.blob: {disable: true}}")
	w.serve()
	w.run("call", "play.blob").exits(3)
	for _, text := range []string{"nonsense: [\n", "tools: {play.blob: {disable: false}}\n"} {
		w.found(text)
		w.run("call", "play.blob").exits(3).says(w.config() + " is not trusted as it is, so the daemon goes by")
		w.run("tools", "--no-daemon").exits(0).says(untrusted)
	}
}

// Commands find their daemon also after a link to its plugin directory, or to its
// configuration, was exchanged: the daemon follows it, too.
func TestExchangedLinksKeepTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	away := t.TempDir()
	exchange := func(link, target string) {
		t.Helper()
		require.NoError(t, os.Symlink(target, link+".next"))
		require.NoError(t, os.Rename(link+".next", link))
	}
	for _, name := range []string{"1.yaml", "2.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(away, name), []byte("# nothing\n"), 0o600))
	}
	config, dir := filepath.Join(away, "toolhost.yaml"), filepath.Join(away, "plugins")
	exchange(config, "1.yaml")
	exchange(dir, w.plugins)
	s := w.begin("--config", config, "--plugin-dir", dir)
	s.await("toolhost: ready: ")
	args := []string{"tools", "--config", config, "--plugin-dir", w.plugins, "--plugin-dir", dir}
	w.bare(args...).exits(0)
	next := t.TempDir()
	require.NoError(t, os.Link(filepath.Join(built.dir, "fs"), filepath.Join(next, "fs")))
	exchange(dir, next)
	exchange(config, "2.yaml")
	w.until("the daemon serves what the link leads to now", func() bool {
		return strings.Contains(w.bare(args...).exits(0).stdout, "fs.read")
	})
}
