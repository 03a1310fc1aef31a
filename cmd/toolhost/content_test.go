package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const waits = " is not in effect as it is now"

// intrude has the plugin replace a text in a file of the workspace.
func (w *world) intrude(path, was, is string) {
	w.t.Helper()
	w.run("call", "intrude.replace", "--arg", "path="+filepath.Join(w.root, path), "--arg", "was="+was, "--arg", "is="+is).
		exits(exit.Done).prints("replaced")
}

// A plugin that writes the workspace gets no larger needs by a lock that it has changed, once the
// operator has written that again and it is no longer mounted: the content waits for trust.
func TestLockOfAPluginWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "intruder")
	lock, secret := filepath.Join(w.root, pins.LockName), filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2"), 0o600))
	w.run("plugins", "lock").exits(exit.Done)
	w.serve()
	read := func(args ...string) outcome {
		t.Helper()
		o := w.run(append([]string{"call", "intrude.read", "--arg", "path=" + secret}, args...)...)
		assert.NotContainsf(t, o.stdout+o.stderr, "hunter2", "it reads more than it needs: %s", o.stdout)
		return o
	}
	read().exits(exit.Failed)
	w.run("plugins", "lock").exits(exit.Done) // another file in the same place
	const larger = `{"exec":["any"],"net":["any"],"read":["any"],"write":["any"]}`
	w.intrude(pins.LockName, `{"write":["workspace"]}`, larger)

	for range 2 { // in the process that runs, and in the next one
		read().exits(exit.Failed)
		w.run("plugins", "restart", "intruder").exits(exit.Done)
	}
	w.write("greedy", "")
	w.run("plugins", "restart", "intruder")
	read()
	read("--no-daemon")
	w.removeFile(filepath.Join(w.root, "greedy"))
	w.run("plugins", "restart", "intruder").exits(exit.Done)
	read("--no-daemon").exits(exit.Unavailable).says(lock+waits, "toolhost trust "+lock)
	w.run("plugins").says(lock+waits, "toolhost trust "+lock)
	w.run("status").exits(exit.Failed).prints(lock+waits, "toolhost trust "+lock)
	w.run("plugins", "lock").exits(exit.Refused).says(lock+waits, "toolhost trust "+lock)
	w.run("plugins", "lock", "--check").exits(exit.Refused).says(lock + waits)
	w.run("doctor").prints(lock + waits)
	w.bare("reload").exits(exit.Refused).says(`- intruder needs`, `+ intruder needs `, larger, "no terminal to ask at", "toolhost trust "+lock)
	read().exits(exit.Failed)

	w.bare("trust", lock).exits(exit.Refused).says("gives intruder: read any; write any; net any; exec any")
	w.bare("trust", lock, "--yes").exits(exit.Done)
	w.run("status").exits(exit.Done)
	w.bare("reload").exits(exit.Done)
}

// So it is with the configuration, which a reload takes for the operator's word.
func TestConfigurationOfAPluginWaits(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]string{"found": "", "named": session.ConfigVariable + "="} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "intruder")
			if by != "" {
				by += w.config()
				w.env = append(w.env, by)
			}
			w.configure("# nothing")
			s := w.serve()
			w.configure("# edited") // by the operator: another file in the same place
			s.await("toolhost: reloaded: nothing has changed")
			w.intrude(session.DefaultConfig, "# edited", `callers: {cli: {approval: "yes"}}`)
			s.await(w.config() + waits)
			for _, args := range [][]string{{"reload"}, {"reload", "--json"}} {
				w.bare(args...).exits(exit.Refused).says(`- # edited`, `+ callers: {cli: {approval: "yes"}}`, "toolhost trust "+w.config())
			}
			s.hangUp()
			s.await("the configuration was not reloaded, and nothing has changed: " + w.config() + waits)
			if by == "" {
				w.run("plugins", "lock").exits(exit.Done) // the word for one is not the word for the other
			}
			w.run("status").exits(exit.Failed).prints(w.config()+waits, "toolhost trust")
			if c := w.client().State().Identity; c.ConfigDigest != trust.Sum([]byte("# edited\n")) {
				t.Errorf("the configuration in effect has the digest %s", c.ConfigDigest)
			}
			if err := w.reload(trust.Sum([]byte("shown"))); tool.CodeOf(err) != tool.CodePermissionDenied {
				t.Errorf("content that was not shown is accepted: %v", err)
			}
			w.bare("reload", "--yes").exits(exit.Done)
			s.await("toolhost: reloaded: caller cli")
			w.bare("reload").exits(exit.Done)
		})
	}
}

// A file in the workspace that is named counts with its first content, and with no other, whatever
// root that says; outside of it any counts.
func TestNamedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	named := func(args ...string) outcome { return w.run(append(args, "--config", w.config())...) }
	w.found("tools: {play.echo: {rename: other}}\n")
	named("config").exits(exit.Done) // which trusts nothing
	named("config", "check").exits(exit.Done)
	w.found("tools: {play.echo: {rename: first}}\n")
	named("tools").exits(exit.Done).prints("first")
	for _, more := range []string{"", "root: " + t.TempDir() + "\n"} {
		w.found("tools: {play.echo: {rename: second}}\n" + more)
		named("tools").exits(exit.Refused).says(w.config()+waits, "toolhost trust "+w.config())
		named("call", "first").exits(exit.Refused)
	}
	w.removeFile(w.config())
	w.found("tools: {play.echo: {rename: third}}\n")
	named("tools").exits(exit.Refused).says(w.config() + waits)
	w.bare("trust", "--yes").exits(exit.Done)
	named("tools").exits(exit.Done).prints("third")

	elsewhere := filepath.Join(t.TempDir(), session.DefaultConfig)
	for _, name := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(elsewhere, []byte("tools: {play.echo: {rename: "+name+"}}\n"), 0o600))
		w.run("tools", "--config", elsewhere).exits(exit.Done).prints(name)
	}
	store := trust.In(filepath.Join(w.state, "toolhost"))
	require.NoError(t, os.WriteFile(store.Path(), []byte("["), 0o600))
	named("tools").exits(exit.BadUsage).says("which files are trusted is not known", store.Path())
}

// So it is with a file of MCP servers, which says what programs run.
func TestServersOfAPluginWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "intruder")
	const mine = `{"mcpServers": {"mine": {"command": "no-such-program"}}}`
	w.write("servers.json", mine+"}")
	file := filepath.Join(w.root, "servers.json")
	list := func() outcome { return w.run("plugins", "--kind", "mcp", "--mcp-config", file, "--no-daemon") }
	list().exits(exit.BadUsage).says("is not JSON") // which is not remembered
	w.write("servers.json", mine)
	list().exits(exit.Done).prints("mine")
	w.serve("--mcp-config", file)
	w.write("servers.json", mine+"\n") // another file in the same place
	w.bare("trust", file, "--yes").exits(exit.Done).prints(`mounts the MCP server mine, for which it runs ["no-such-program"]`)
	w.bare("reload").exits(exit.Done)
	w.write("servers.json", strings.ReplaceAll(mine, "mine", "theirs"))
	w.bare("reload").exits(exit.Refused).says(file+waits, "toolhost trust "+file)
	list().exits(exit.Refused).says(file+waits, "toolhost trust "+file)
	w.bare("trust", file, "--yes").exits(exit.Done)
	w.bare("reload").exits(exit.Failed).says("plugin theirs did not start")
	list().exits(exit.Done).prints("theirs")
}

// What a repository brings: its configuration is named, and its lock waits.
func TestClonedLockWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.found("lock: required\n")
	named := func(args ...string) outcome { return w.run(append(args, "--config", w.config())...) }
	named("plugins", "lock").exits(exit.Done)
	clone := newWorld(t, "player")
	for _, name := range []string{session.DefaultConfig, pins.LockName} {
		clone.replace(name, string(require.Must(os.ReadFile(filepath.Join(w.root, name)))(t)))
	}
	w = clone
	lock := filepath.Join(w.root, pins.LockName)
	named("call", "play.echo").exits(exit.Unavailable).says(lock+waits, "toolhost trust "+lock)
	named("plugins", "lock", "--check").exits(exit.Refused).says("toolhost trust " + lock)
	w.bare("trust").exits(exit.Refused).says("pins 1 plugins")
	var both trustReport
	w.bare("trust", "--yes", "--json").exits(exit.Done).json(&both)
	if both.Lock == nil || both.Lock.File != lock || both.File != w.config() {
		t.Errorf("trust says %+v", both)
	}
	named("plugins", "lock", "--check").exits(exit.Done)
	named("call", "play.echo").exits(exit.Done)

	// All of a large file counts.
	text := string(require.Must(os.ReadFile(lock))(t)) + strings.Repeat("# a comment\n", 100_000)
	w.replace(pins.LockName, text)
	w.bare("trust", lock, "--yes").exits(exit.Done)
	named("call", "play.echo").exits(exit.Done)
	w.replace(pins.LockName, text+"# one more\n")
	named("call", "play.echo").exits(exit.Unavailable).says(lock + waits)
	require.NoError(t, os.WriteFile(lock, make([]byte, lockfile.MaxSize+1), 0o600))
	named("call", "play.echo").exits(exit.Unavailable).says("more than")
}

// What the host keeps is not put where plugins write, whoever says so; where the user's system puts it
// by default it may lie.
func TestPlacesInTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	elsewhere := t.TempDir()
	for _, line := range []string{"audit: {path: calls.jsonl}", "socket: here.sock", "cache_dir: cache", "install_dir: mine"} {
		w.configure("# this and that", line)
		for _, args := range [][]string{{"call", "play.echo"}, {"serve"}} {
			w.run(args...).exits(exit.BadUsage).says(w.config()+":2:", "would be in the workspace, and could be replaced there")
		}
		w.run("config", "check").exits(exit.Failed).prints("would be in the workspace")
	}
	w.configure("audit: {path: "+elsewhere+"/calls.jsonl}", "plugins: {player: {sandbox: {write: ["+elsewhere+"]}}}")
	w.run("call", "play.echo").exits(exit.BadUsage).says(w.config()+":1:", elsewhere+", which plugins.player.sandbox.write has")
	w.configure("# nothing")
	for _, name := range []string{session.AuditVariable, session.CacheVariable, session.InstallVariable} {
		before := w.env
		w.env = append(w.env[:len(w.env):len(w.env)], name+"="+filepath.Join(w.root, "x"))
		w.run("call", "play.echo").exits(exit.BadUsage).says(name + ": " + w.root)
		w.env = before
	}
	w.run("call", "play.echo", "--audit", "x").exits(exit.BadUsage).says("--audit: x: the record would be in the workspace")
	w.run("serve", "--socket", "x").exits(exit.BadUsage).says("--socket: x: the socket would be in the workspace")
	for _, name := range []string{"calls.jsonl", "x", "cache", "mine"} {
		if _, err := os.Lstat(filepath.Join(w.root, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	w.env = append(w.env, "XDG_STATE_HOME="+filepath.Join(w.root, ".local", "state"))
	w.configure("# nothing")
	w.bare("trust", "--yes").exits(exit.Done)
	w.run("call", "play.echo").exits(exit.Done)
}

// Nor does a plugin start, in a command or a daemon, that needs to write there, though it declares that
// later, and the operator accepts it.
func TestPlacesThatAPluginNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "intruder")
	elsewhere := t.TempDir()
	w.configure("# this and that", "audit: {path: "+elsewhere+"/calls.jsonl}")
	w.serve()
	read := func(args ...string) outcome {
		t.Helper()
		return w.run(append([]string{"call", "intrude.read", "--arg", "path=" + w.config()}, args...)...)
	}
	read().exits(exit.Done)
	w.write("greedy", elsewhere)
	w.run("plugins", "restart", "intruder").exits(exit.Done)
	read().exits(exit.Done) // without what was not accepted
	place := w.config() + ":2: the record would be in " + elsewhere + ", which the plugin needs to write"
	w.run("plugins", "enable", "intruder").exits(exit.Refused).says("runs on as it was", place)
	w.run("plugins", "show", "intruder").exits(exit.Done).prints("it runs without until: toolhost plugins enable intruder")
	w.run("plugins", "enable", "intruder", "--no-daemon").exits(exit.Refused).says(place)
	w.run("plugins", "restart", "intruder").exits(exit.Done) // nothing was accepted
	read().exits(exit.Done)
	read("--no-daemon").exits(exit.Done)
}

// A plugin directory of the workspace that the configuration names goes by the lock, else what is in it
// waits for the operator, in each command; one that is named on the command line counts as it is.
func TestPluginsOfTheWorkspaceWait(t *testing.T) {
	t.Parallel()
	w := inside(t, "player")
	w.configure("plugin_dirs: [bin/plugins]")
	const waits = "it lies in the workspace and is not trusted as it is"
	w.bare("call", "play.echo").exits(exit.Unknown)
	w.bare("plugins").exits(exit.Done).prints(waits, "toolhost plugins enable player")
	w.run("call", "play.echo").exits(exit.Done)
	w.bare("plugins", "enable", "player").exits(exit.Done)
	w.bare("call", "play.echo").exits(exit.Done)

	evil := w.script("evil") // as a tool may have put it there
	w.put("fs", "player")
	w.bare("plugins").exits(exit.Done).prints("toolhost plugins enable player", "toolhost plugins enable evil")
	w.bare("call", "play.echo").exits(exit.Unknown)
	w.ran(evil, false)
	w.remove("evil")
	w.bare("plugins", "lock").exits(exit.Done).prints("player")
	w.bare("tools").exits(exit.Done).prints("fs.read")
	w.put("player", "player")
	w.bare("call", "play.echo").exits(exit.Unknown).says("toolhost.lock pins")
	w.bare("plugins", "lock", "--off", "--yes").exits(exit.Done)
	w.bare("call", "play.echo").exits(exit.Done) // it was enabled
	w.put("greeter", "player")

	s := &serving{w: w, cmd: w.command("serve"), lines: make(chan string, 10000)}
	s.start()
	s.await("toolhost: ready: ")
	w.bare("plugins").exits(exit.Done).prints(waits)
	w.bare("reload").exits(exit.Done)
	w.bare("--log-level", "info", "call", "greet.version").exits(exit.Done).says("using the daemon")
	s.ends(syscall.SIGTERM, 0)
	w.bare("call", "greet.version").exits(exit.Done)
}

// A script of the workspace that does not start may miss the files next to it, and its error says so.
func TestScriptRunsFromACopy(t *testing.T) {
	t.Parallel()
	w := inside(t, "player")
	w.configure("plugin_dirs: [bin/plugins]")
	w.ran(w.script("alone"), false)
	w.bare("plugins", "enable", "alone")
	w.bare("call", "alone.x").says("it runs from a private copy", "finds no files next to the original")
}
