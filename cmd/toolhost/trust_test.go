package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/require"
)

// found writes the default file, which is not trusted then.
func (w *world) found(content string) {
	w.t.Helper()
	w.replace(session.DefaultConfig, content)
}

const untrusted = " is not trusted as it is, so the defaults hold"

// A file that is found counts when it is trusted, as long as it is the same.
func TestFoundFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.found("tools:\n  play.echo: {rename: planted}\ncallers:\n  cli: {approval: \"yes\"}\n")
	for _, args := range [][]string{{"tools"}, {"tools", "--json"}, {"plugins", "--json"}} {
		o := w.run(args...).exits(0).says(w.config()+untrusted, "toolhost trust")
		if strings.Contains(o.stdout, "planted") || strings.Contains(o.stdout, "trust") || strings.Count(o.stderr, untrusted) != 1 {
			t.Errorf("toolhost %q goes by it, or says so elsewhere:\n%s\n%s", args, o.stdout, o.stderr)
		}
	}
	w.run("call", "play.danger").exits(5)
	if o := w.bare("__complete", "--plugin-dir", w.plugins, "call", "play.").exits(0).prints("play.echo"); strings.Contains(o.stderr, untrusted) {
		t.Errorf("completion says %s", o.stderr)
	}

	w.bare("trust").exits(5).says("there is no terminal to ask at", "--yes", "says yes to every call of cli")
	w.run("call", "play.danger").exits(5)
	w.bare("trust", "--yes").exits(0).prints(w.config()+" (sha256 ", "trusted "+w.config(), "says yes to every call of cli", "tool play.echo")
	w.bare("trust").exits(0).prints("trusted " + w.config()) // there is nothing to ask
	if o := w.run("tools").exits(0).prints("planted"); o.stderr != "" {
		t.Errorf("it says %s", o.stderr)
	}
	w.run("call", "play.danger").exits(0)

	// Another content is another file, and so is the same content elsewhere.
	w.found("tools:\n  play.echo: {rename: exchanged}\n")
	w.run("tools").exits(0).says(untrusted).prints("play.echo")
	w.run("tools", "--config", session.DefaultConfig).exits(5).says("toolhost trust " + w.config())
	w.env = append(w.env, session.ConfigVariable+"="+w.config())
	w.run("tools").exits(5).says("toolhost trust " + w.config())
	w.env = append(w.env, session.ConfigVariable+"=")

	// One that is not trusted is not even judged; one that is broken is not trusted.
	w.found("nonsense: [\n")
	w.run("tools").exits(0).says(untrusted).prints("play.echo")
	w.bare("trust", "--yes").exits(2).says(w.config() + ":1:")
	w.bare("config", "check").exits(1).says(untrusted)
}

// Nothing that a file says makes it trusted.
func TestFileCannotTrustItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "quitter")
	marker := filepath.Join(w.root, "ran")
	planted := filepath.Join(w.root, "planted")
	require.NoError(t, os.Mkdir(planted, 0o755))                                                                                 //nolint:gosec // as plugin directories are
	if err := os.WriteFile(filepath.Join(planted, "evil"), []byte("#!/bin/sh\ntouch "+marker+"\nexit 1\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	w.found("plugin_dirs: [planted]\n")
	w.bare("tools").exits(2) // there are no default directories
	w.run("tools").exits(0)
	w.bare("config", "check").exits(0)
	w.bare("config").exits(0).says(untrusted).prints("planted")
	w.bare("config", "check", "--start").exits(2).says("plugins are not started with the settings of a file that is not trusted")
	w.bare("plugins", "lock").exits(2)
	if _, err := os.Stat(marker); err == nil {
		t.Error("what the file names was run")
	}
	for _, key := range []string{"trust_this: true", "trusted: [.]", "protected: []"} {
		w.found(key + "\n")
		w.run("tools").exits(0).says(untrusted)
		w.run("tools", "--config", session.DefaultConfig).exits(2).says("unknown key")
	}
}

// What the command itself wrote is trusted until it is edited.
func TestConfigInitIsTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.bare("config", "init").exits(0).prints("toolhost trust")
	if o := w.run("tools").exits(0); o.stderr != "" {
		t.Errorf("it says %s", o.stderr)
	}
	w.found("log_level: info\n")
	w.run("tools").exits(0).says(untrusted)
	w.bare("config", "init").exits(2)
	w.run("tools").exits(0).says(untrusted)
}

func TestTrustLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bare("trust", "--yes").exits(2).says("there is no toolhost.yaml and no toolhost.lock in .")
	w.bare("trust", "nowhere").exits(2).says("toolhost: nowhere: file does not exist")
	w.bare("trust", "--list").exits(0).says("no files are trusted")
	w.found("# nothing\n")
	sub := filepath.Join(w.root, "sub")
	require.NoError(t, os.Mkdir(sub, 0o755)) //nolint:gosec // a workspace
	w.write("sub/toolhost.lock", "version: 1\nplugins: {}\n")
	var one trustReport
	w.bare("trust", "--yes", "--json").exits(0).json(&one)
	if one.File != w.config() || len(one.SHA256) != 64 || !one.Trusted || len(one.Grants) != 1 || !strings.Contains(one.Grants[0], "sets nothing") {
		t.Errorf("%+v", one)
	}
	w.bare("trust", "--yes", session.DefaultConfig).exits(0)
	var list struct{ Files []listedFile }
	states := func(want ...string) {
		t.Helper()
		w.bare("trust", "--list", "--json").exits(0).json(&list)
		var got []string
		for _, f := range list.Files {
			got = append(got, f.State)
		}
		equalLists(t, "the states", got, want)
	}
	states("trusted")
	w.found("# something\n")
	states("changed")
	w.bare("trust", "--list").exits(0).prints(w.config(), "changed")
	require.NoError(t, os.Remove(w.config()))
	states("gone")
	w.bare("trust", "--revoke").exits(0).prints(w.config() + " is no longer trusted")
	states()
	w.bare("trust", "--revoke", "sub").exits(0).prints("was not trusted")
	w.bare("trust", "--list", "x").exits(2)
	w.bare("trust", "--list", "--yes").exits(2)
}
