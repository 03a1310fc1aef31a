package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "chatty", "future", "quitter")
	w.install("leftover", "old.bak")
	notes := filepath.Join(w.plugins, "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("not executable"), 0o600))
	var list pluginList
	o := w.run("plugins", "--json").exits(0).says(
		"warning: plugin chatty did not start: the plugin printed \"hello\" to standard output before its handshake",
		"warning: plugin future did not start: the plugin speaks version",
		"of the toolhost protocol, this host version 1; rebuild it",
		"warning: plugin quitter did not start: the process ended before it was ready: exit status 3: no license",
		" (see toolhost plugins show quitter").json(&list)
	states := map[string]plugin.State{}
	for _, s := range list.Plugins {
		states[s.Name] = s.State
	}
	equal(t, "the number of plugins", len(list.Plugins), 4)
	for name, want := range map[string]plugin.State{"fs": plugin.Ready, "chatty": plugin.Refused, "future": plugin.Refused, "quitter": plugin.Refused} {
		equal(t, "the state of "+name, states[name], want)
	}
	equal(t, "the number of skipped files", len(list.Skipped), 2)
	equal(t, "the first skipped file", list.Skipped[0].Path, notes)
	assert.NotContainsf(t, o.stderr, "its last words", "last words for every day")

	w.run("plugins").exits(0).prints("NAME", "fs       plugin  idle     -    0.1.0    9", "refused", "skipped:\n", notes+": not executable")
	w.run("plugins", "--log-level", "debug").exits(0).says("its last words:\n    no license")
	// What can be used is.
	w.write("a.txt", "text")
	w.run("call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read").exits(0).prints("text")
}

// Without a daemon, restart tries again what did not start, at once and whatever is
// remembered of it. A call that may be for one of its tools is told the reason, not that
// there is no such tool.
func TestRestartWithoutADaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "quitter")
	const reason = "plugin quitter did not start: the process ended before it was ready: exit status 3: no license"
	for range 5 { // the last are told by the cache
		w.run("call", "get_season").exits(6).says("Unknown tool: get_season (unless it is one of a plugin that is not available: " + reason)
	}
	w.run("call", "quitter.x").exits(6).says("tool quitter.x is not available: "+reason, "toolhost plugins restart quitter")
	w.run("tools", "show", "get_season").exits(6).says("get_season")
	w.run("plugins", "restart", "quitter").exits(6).says(reason)
	w.run("plugins", "restart", "fs").exits(6).says("no daemon is running on ")
	require.NoError(t, os.Remove(filepath.Join(w.plugins, "quitter")))
	w.run("call", "get_season").exits(3).says("Unknown tool: get_season")
}

func TestFieldsOfAFault(t *testing.T) {
	t.Parallel()
	s := shownPlugin{Status: plugin.Status{LastFault: &plugin.Fault{Text: "x: gave up", Time: time.Unix(0, 0).UTC()}}}
	if !slices.Contains(s.fields(), output.Field{Name: "last fault", Value: "1970-01-01T00:00:00Z x: gave up"}) {
		t.Errorf("%v", s.fields())
	}
}

func TestPluginsShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "quitter")
	w.install("leftover", "old.bak")
	w.run("plugins", "show", "fs").exits(0).prints(
		"name:          fs", "state:         ready", "version:       0.1.0", "sdk:           toolhost-go/", "tools:         fs.delete, fs.edit, fs.list, fs.mkdir, fs.move, fs.read, fs.search, fs.stat, fs.write")
	w.run("plugins", "show", "fs").exits(0).prints(
		"state:         idle", "version:       0.1.0", "sdk:           toolhost-go/", "starts:        0", "tools:         fs.delete, fs.edit, fs.list, fs.mkdir, fs.move, fs.read, fs.search, fs.stat, fs.write")
	w.run("plugins", "show", "quitter").exits(0).prints(
		"state:         refused", "unavailable: plugin quitter did not start", "its last words:\n    no license")
	var s shownPlugin
	w.run("plugins", "show", "quitter", "--json").exits(0).json(&s)
	equal(t, "the number of faults", len(s.Faults), 1)
	equal(t, "the last words", s.Faults[0].Detail, "no license")
	w.install("panicker", "panicker")
	o := w.run("plugins", "show", "panicker").exits(0).prints("did not start: the process ended before it was ready: exit status 2: panic: no license\n")
	assert.NotContainsf(t, o.stdout+o.stderr, "see toolhost plugins show panicker", "it refers to itself:\n%s%s", o.stdout, o.stderr)
	w.run("plugins", "show", "quiter").exits(2).says("toolhost: there is no plugin quiter", "did you mean quitter?")
	w.run("plugins", "show", "old.bak").exits(2).says("was skipped: looks like a leftover")
}

// A file's name is one line, whatever it has in it.
func TestPluginsWithAnOddFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.install("leftover", "odd\nready  1\u202e")
	o := w.run("plugins").exits(0).prints(`odd\nready  1\u202e: `)
	assert.NotContainsf(t, o.stdout, "odd\n", "it prints")
	w.run("plugins", "--json").exits(0).prints(`odd\nready  1\u202e"`)
	w.run("plugins", "show", "odd\nready  1\u202e").exits(exit.BadUsage).says(`odd\nready  1\u202e was skipped`)
}
