package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// inside is a world whose plugin directory, configuration and lock lie in the workspace,
// as those of this repository do.
func inside(t *testing.T, plugins ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.root = shortDir(t)
	w.plugins = filepath.Join(w.root, "bin", "plugins")
	require.NoError(t, os.MkdirAll(w.plugins, 0o755)) //nolint:gosec // as plugin directories are
	for _, name := range plugins {
		w.install(name, name)
	}
	return w
}

// shortDir is a directory with a short path, whatever TMPDIR is: sockets can be in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := require.Must(os.MkdirTemp("/tmp", "th-"))(t)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func (w *world) link(target, name string) {
	w.t.Helper()
	require.NoError(w.t, os.Symlink(target, filepath.Join(w.root, name)))
}

// Where there is no configuration and no lock yet, tools cannot make one.
func TestToolsCannotMakeWhatRules(t *testing.T) {
	t.Parallel()
	w := inside(t, "fs")
	for _, name := range []string{session.DefaultConfig, pins.LockName} {
		w.run("call", "fs.write", `{"path":"`+name+`","content":""}`, "--grant", "fs:write", "--yes").exits(5).says(name + " is protected")
	}
}

// Tools with every permission cannot write what rules the host, under any name.
func TestToolsCannotChangeWhatRules(t *testing.T) {
	t.Parallel()
	w := inside(t, "fs", "buffer")
	w.configure("defaults: {environment: {KEY: {from_file: secret}}}")
	w.write("secret", "hunter2")
	w.write("mine.txt", "mine")
	w.link("bin/plugins", "shortcut")
	w.link("toolhost.yaml", "soft")
	require.NoError(t, os.Link(w.config(), filepath.Join(w.root, "hard")))
	w.serve("--grant", "fs:read,fs:write", "--yes")
	before := w.tree()
	daemon := require.Must(control.Dial(t.Context(), w.socket(), false))(t)
	given := func(name, text string) error {
		call := control.Call{Name: name, Arguments: []byte(text), Grants: []tool.Capability{tool.FSRead, tool.FSWrite}, Yes: true}
		return daemon.Call(t.Context(), call, nil).Err
	}
	for _, path := range []string{
		"toolhost.yaml", "./bin/../toolhost.yaml", "TOOLHOST.YAML", "soft", "hard", "toolhost.lock", "bin/plugins/x", "bin/plugins/fs",
		"shortcut/fs", "shortcut/new/x", "bin/plugins", "secret",
	} {
		for name, text := range map[string]string{
			"fs.write": `{"path":%q,"content":"#!/bin/sh"}`, "fs.edit": `{"path":%q,"original":"a","modified":"b"}`,
			"write_file":        `{"path":%q,"content":"#!/bin/sh"}`,
			"propose_file_edit": `{"path":%q,"original":"a","modified":"b","description":"d"}`,
		} {
			err := given(name, fmt.Sprintf(text, path))
			if tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "is protected") {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
	args := []string{"call", "fs.write", `{"path":"toolhost.lock","content":""}`, "--grant", "fs:write", "--yes", "--log-level", "info"}
	w.run(args...).exits(5).says("using the daemon", "is protected", "no permission allows this")
	w.run(append(args, "--no-daemon")...).exits(5).says("is protected")
	assert.NoError(t, given("fs.read", `{"path":"toolhost.yaml"}`))
	for _, path := range []string{"mine.txt", "bin/mine.txt"} {
		assert.NoError(t, given("fs.write", fmt.Sprintf(`{"path":%q,"content":"yours"}`, path)))
	}
	after := w.tree()
	for _, ours := range []string{"mine.txt", "bin/mine.txt"} {
		delete(before, ours)
		delete(after, ours)
	}
	equal(t, "what is there", fmt.Sprint(after), fmt.Sprint(before))
}

// tree is the content of all files of the workspace that are not plugins.
func (w *world) tree() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(w.root, path)
		out[rel] = ""
		if !strings.HasPrefix(path, w.plugins) {
			text, err := os.ReadFile(path)
			out[rel] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// A daemon does not go by a file that changed in the workspace, by itself; it does when
// the operator says so, in either way.
func TestDaemonHoldsAChangedFile(t *testing.T) {
	t.Parallel()
	w := inside(t, "player")
	w.configure("# nothing")
	s := w.begin()
	s.await("protected in the workspace: bin/plugins, toolhost.lock, toolhost.yaml: ")
	s.await("toolhost: ready: ")
	renamed := func(name string) string { return "tools: {play.echo: {rename: planted." + name + "}}\n" }
	tools := func() string {
		all := require.Must(w.client().Tools(t.Context(), host.Filter{}))(t)
		return fmt.Sprint(all)
	}
	held := "toolhost.yaml is not in effect as it is now"
	w.found(renamed("one"))
	s.await(held)
	assert.NotContainsf(t, tools(), "planted", "the file is gone by")
	faults := w.client().State().Faults
	if len(faults) != 1 || !strings.Contains(faults[0].Message, held) || !strings.Contains(faults[0].Hint, "toolhost reload") {
		t.Errorf("the daemon's faults are %+v", faults)
	}
	w.bare("reload", "--yes").exits(0).prints("reloaded the daemon (pid " + fmt.Sprint(s.cmd.Process.Pid))
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("planted.one") // by commands it is trusted now
	equal(t, "the number of faults", len(w.client().State().Faults), 0)

	w.found(renamed("two"))
	s.await(held)
	w.bare("trust", "--yes").exits(0)
	s.await("toolhost: reloaded: tool play.echo")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("planted.two")

	w.found(renamed("three"))
	s.await(held)
	s.hangUp()
	s.await("the configuration was not reloaded, and nothing has changed: " + w.config() + " is not in effect as it is now")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("planted.two")

	w.found("nonsense: 1\n")
	s.await(held)
	w.bare("reload", "--yes").exits(1).says("the configuration was not reloaded, and nothing has changed", ":1:1: nonsense: unknown key")
}

// A file that was never trusted does not come into force with a reload either.
func TestReloadOfAFileThatWasFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.bare("reload").exits(6).says("no daemon is running on " + w.socket())
	w.found("tools: {play.echo: {rename: planted}}\n")
	s := w.begin()
	s.await(untrusted)
	s.await("toolhost: ready: ")
	w.bare("reload").exits(5).says("nothing was reloaded: "+w.config()+" has other content", "toolhost reload --yes")
	w.bare("status").exits(1).prints(w.config() + " is not in effect as it is now")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("play.echo")
	w.bare("trust", "--yes").exits(0)
	s.await("toolhost: reloaded: tool play.echo")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("planted")
	w.bare("trust", "--revoke").exits(0)
	w.found("tools: {play.echo: {rename: again}}\n")
	w.bare("reload", "--yes").exits(0)
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("again")
}

// A file in the workspace that is named is held as well: tools may write it.
func TestDaemonHoldsANamedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.found("# nothing\n")
	w.env = append(w.env, session.ConfigVariable+"="+w.config())
	s := w.serve()
	w.found("tools: {play.echo: {rename: changed}}\n")
	s.await("toolhost.yaml is not in effect as it is now")
	w.bare("reload", "--yes", "--json").exits(0).prints(`"reloaded": true`)
	s.await("toolhost: reloaded: tool play.echo")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon").prints("changed")
}

// What is new or has changed in a plugin directory of the workspace does not run until
// the operator says so; what ran before goes on.
func TestDaemonHoldsPlugins(t *testing.T) {
	t.Parallel()
	w := inside(t, "player")
	s := w.serve("--grant", "fs:read")
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
	before := w.known("player").PID
	w.put("fs", "fs")
	s.await("a plugin directory inside the workspace has changed: plugin=fs")
	w.put("fs", "player")
	s.await("a plugin directory inside the workspace has changed: plugin=player")
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
	if p := w.known("player"); p.PID != before || p.State != plugin.Ready || p.Held == "" {
		t.Errorf("the one that changed: %+v", p)
	}
	if p := w.known("fs"); p.PID != 0 || p.State != plugin.Refused || !strings.Contains(p.Reason, "toolhost plugins enable fs") {
		t.Errorf("the new one: %+v", p)
	}
	w.run("plugins").exits(0).prints("its file is new inside the workspace", "its file has changed inside the workspace")
	w.run("plugins", "show", "player").exits(0).prints("held", "has changed inside the workspace")
	w.run("plugins", "restart", "player").exits(6).says("has changed inside the workspace")
	w.run("call", "play.echo").exits(0)

	// The word for one is not the word for another, nor for the configuration.
	w.run("plugins", "disable", "fs").exits(0)
	equal(t, "the tools of fs", w.known("fs").Tools, 0)
	equal(t, "the process", w.known("player").PID, before)
	w.put("player", "player")
	w.run("plugins", "enable", "fs").exits(0).prints("enabled fs")
	w.run("--log-level", "info", "tools", "show", "fs.read").exits(0).says("using the daemon")
	s.await("a plugin directory inside the workspace has changed: plugin=player")
	equal(t, "the process", w.known("player").PID, before)
	w.run("plugins", "enable", "player", "--json").exits(0).prints(`"changed": true`)
	if p := w.known("player"); p.PID != before || p.Held != "" { // the bytes are those that it runs
		t.Errorf("after the word: %+v", p)
	}
	w.remove("fs")
	s.await("a plugin directory inside the workspace has changed: plugin=fs")
	w.run("tools", "show", "fs.read").exits(0)
	w.bare("reload").exits(0)
	w.run("--log-level", "info", "tools", "show", "fs.read").exits(3).says("using the daemon")
}
