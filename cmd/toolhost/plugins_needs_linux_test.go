package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

const (
	needsA  = `{"net":["a.example:443"],"memory":268435456}`
	needsAB = `{"net":["a.example:443","b.example:443"],"memory":536870912}`
	moreAB  = "net: b.example:443 is new; memory: 512 MiB, was 256 MiB"
)

// declares puts a player into the plugin directory that declares needs; empty: none. A process
// of its own writes it, as a file that this one has open for writing could not be run.
func (w *world) declares(name, needs string) {
	w.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `printf '#!/bin/sh\nexec "%s" '"'%s'"'\n' "$1" "$2" >"$0.tmp" && chmod 755 "$0.tmp" && mv "$0.tmp" "$0"`,
		filepath.Join(w.plugins, "."+name), filepath.Join(built.dir, "player"), needs)
	if needs == "" {
		cmd.Args[2] = `printf '#!/bin/sh\nexec "%s"\n' "$1" >"$0.tmp" && chmod 755 "$0.tmp" && mv "$0.tmp" "$0"`
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	require.NoError(w.t, os.Rename(filepath.Join(w.plugins, "."+name), filepath.Join(w.plugins, name)))
}

// shown is what plugins show says of a plugin.
func (w *world) shown(name string) plugin.Status {
	w.t.Helper()
	var s plugin.Status
	w.run("plugins", "show", name, "--json").exits(exit.Done).json(&s)
	return s
}

// What a plugin declares is shown, an upgrade that declares more is named with what accepts
// it, and enable does, for the commands that work alone.
func TestShowAndAcceptNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.declares("needy", needsA)
	w.run("plugins", "show", "needy").exits(exit.Done).prints("net a.example:443; exec any; memory 256 MiB")
	w.declares("needy", needsAB)
	for range 2 { // started, and remembered
		w.run("plugins", "show", "needy").exits(exit.Done).prints("net a.example:443, b.example:443", moreAB+"; it runs without until: toolhost plugins enable needy")
	}
	w.run("plugins").exits(exit.Done).prints("wants more: " + moreAB)
	if s := w.shown("needy"); s.WantsMore == nil || s.WantsMore.Text != moreAB || s.WantsMore.Accept != "toolhost plugins enable needy" || len(s.WantsMore.Changes) != 2 || s.Undeclared {
		t.Errorf("%+v", s)
	}
	var done map[string]any
	w.run("plugins", "enable", "needy", "--json").exits(exit.Done).json(&done)
	if list, ok := done["accepted"].([]any); !ok || len(list) != 2 || done["changed"] != true {
		t.Errorf("enable says %v", done)
	}
	if s := w.shown("needy"); s.WantsMore != nil {
		t.Errorf("after enable: %+v", s.WantsMore)
	}
	w.declares("needy", "")
	if s := w.shown("needy"); !s.Undeclared || s.WantsMore == nil || !strings.Contains(s.WantsMore.Text, "does not declare any more") {
		t.Errorf("undeclared: %+v", s)
	}
	w.run("plugins", "show", "needy").exits(exit.Done).prints("undeclared")
	w.run("plugins", "enable", "needy").exits(exit.Done).prints("accepted for needy: it does not declare any more", "enabled needy")
	w.run("plugins", "show", "needy").exits(exit.Done).prints("undeclared")
	if s := w.shown("needy"); s.WantsMore != nil {
		t.Errorf("after enable: %+v", s.WantsMore)
	}
	w.declares("needy", `{"net":["*:443"]}`)
	w.run("plugins", "show", "needy").exits(exit.Done).prints("upgrade", `net "*:443": it is too wide`)

	path := filepath.Join(w.state, "toolhost", known.FileName)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	w.run("plugins").exits(exit.BadUsage).says(path, "mend or remove")
}

// A daemon names what a new file wants, and gives it once the operator has accepted it, with
// a process of its own, by enable or by the lock.
func TestDaemonAcceptsNeeds(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string][]string{"enable": {"plugins", "enable", "needy"}, "lock": {"plugins", "lock", "--yes"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.declares("needy", needsA)
			s := w.serve()
			w.run("call", "play.echo").exits(exit.Done)
			w.declares("needy", needsAB)
			s.await("plugin wants more than was accepted, and runs without")
			w.until("it is upgraded", func() bool { return w.status("needy").WantsMore != nil })
			w.run("status").exits(exit.Failed).prints("plugin needy wants more: " + moreAB)
			w.run("call", "play.echo").exits(exit.Done)
			before := w.status("needy")
			if before.PID == 0 {
				t.Fatalf("it does not run: %+v", before)
			}
			w.run(accept...).exits(exit.Done)
			w.until("it wants nothing", func() bool { return w.status("needy").WantsMore == nil })
			w.until("another process serves", func() bool { pid := w.status("needy").PID; return pid != 0 && pid != before.PID })
			w.run("call", "play.echo").exits(exit.Done)
			w.run("status").exits(exit.Done)
		})
	}
}

// plugins lock shows what plugins need in addition, and asks: no by default. Without a terminal
// it takes --yes. What was pinned already needs no answer, nor does less.
func TestLockAsksForNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	lock := filepath.Join(w.root, pins.LockName)
	pinned := func() string {
		t.Helper()
		l := require.Must(lockfile.Read(lock))(t)
		return l.Plugins["needy"].Needs
	}
	const (
		a  = `{"exec":["any"],"memory":268435456,"net":["a.example:443"],"read":["any"],"write":["any"]}`
		ab = `{"exec":["any"],"memory":536870912,"net":["a.example:443","b.example:443"],"read":["any"],"write":["any"]}`
	)
	w.declares("needy", needsA)
	w.run("plugins", "lock").exits(exit.Done).prints("needy: not pinned, found sha256:", "which needs: read any; write any; net a.example:443; exec any; memory 256 MiB")
	equal(t, "what is pinned", pinned(), a)
	w.run("plugins", "lock").exits(exit.Done)
	w.run("plugins", "lock", "--check").exits(exit.Done)

	w.declares("needy", needsAB)
	w.run("call", "play.echo").exits(exit.Unavailable).says("not what toolhost.lock pins")
	w.run("plugins", "lock").exits(exit.Refused).says("nothing was pinned", "needy: the needs differ from what is pinned: "+moreAB, "--yes")
	equal(t, "what is pinned", pinned(), a)
	for answer, status := range map[string]int{"\n": exit.Refused, "no\n": exit.Refused} {
		asking := w.ask("plugins", "lock")
		asked := asking.question()
		for _, want := range []string{"needy: the binary is sha256:", moreAB, "let them have it?"} {
			assert.Containsf(t, asked, want, "it does not show %q", want)
		}
		asking.answer(answer).exits(status)
		equal(t, "what is pinned", pinned(), a)
	}
	asking := w.ask("plugins", "lock")
	asking.question()
	asking.answer("y\n").exits(exit.Done)
	equal(t, "what is pinned", pinned(), ab)
	w.run("call", "play.echo").exits(exit.Done)

	w.declares("needy", needsA)
	var report lockReport
	w.run("plugins", "lock", "--json").exits(exit.Done).json(&report)
	if report.WantsMore != nil {
		t.Errorf("less is asked for: %+v", report.WantsMore)
	}
	equal(t, "what is pinned", pinned(), a)

	// The lock goes, and what it pinned last stays the ceiling.
	w.run("plugins", "lock", "--off", "--yes").exits(exit.Done)
	w.declares("needy", needsAB)
	if s := w.shown("needy"); s.WantsMore == nil || s.WantsMore.Text != moreAB {
		t.Errorf("without the lock: %+v", s)
	}
	w.run("plugins", "lock").exits(exit.Refused).says("needy: it needs more than was accepted: " + moreAB)
	w.run("plugins", "lock", "--yes", "--json").exits(exit.Done).json(&report)
	if len(report.WantsMore) != 1 || report.WantsMore[0].Plugin != "needy" || report.WantsMore[0].Changes.String() != moreAB {
		t.Errorf("the report has %+v", report.WantsMore)
	}
	equal(t, "what is pinned", pinned(), ab)
	w.run("plugins", "lock", "--off", "--yes").exits(exit.Done)
	if s := w.shown("needy"); s.WantsMore != nil {
		t.Errorf("after the lock: %+v", s.WantsMore)
	}
}

// A lock of before plugins declared anything is valid, and pins what they need when it is
// written again.
func TestLockWithoutNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lock := filepath.Join(w.root, pins.LockName)
	w.declares("needy", needsA)
	w.run("plugins", "lock").exits(exit.Done)
	text := require.Must(os.ReadFile(lock))(t)
	var older []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, " needs ") {
			older = append(older, line)
		}
	}
	if strings.Join(older, "") == string(text) {
		t.Fatalf("the lock has no needs:\n%s", text)
	}
	w.write(pins.LockName, strings.Join(older, ""))
	w.bare("trust", lock, "--yes").exits(exit.Done)
	w.run("call", "play.echo").exits(exit.Done)
	w.run("plugins", "lock", "--check").exits(exit.Done)
	w.run("plugins", "lock").exits(exit.Done)
	again, err := os.ReadFile(lock)
	if err != nil || string(again) != string(text) {
		t.Errorf("%v: the lock is\n%s\nwant\n%s", err, again, text)
	}
	// What is pinned and declared differs, though the bytes are the same.
	w.write(pins.LockName, strings.Replace(string(text), `"memory":268435456`, `"memory":134217728`, 1))
	w.bare("trust", lock, "--yes").exits(exit.Done)
	w.run("plugins", "lock", "--check").exits(exit.Failed).prints("needy: the needs differ from what is pinned: memory: 256 MiB, was 128 MiB")
	w.run("call", "play.echo").exits(exit.Unavailable).says("memory: 256 MiB, was 128 MiB", "toolhost plugins lock")
	w.write(pins.LockName, strings.Replace(string(text), `"memory":268435456`, `"memory":536870912`, 1))
	w.bare("trust", lock, "--yes").exits(exit.Done)
	w.run("call", "play.echo").exits(exit.Done)
	w.run("plugins", "lock", "--check").exits(exit.Failed).prints("memory: 256 MiB, was 512 MiB")
}

// A lock that is missing keeps strict plugins from running that could make it, and not from being
// pinned by the command that makes it.
func TestLockOfStrictPlugins(t *testing.T) {
	t.Parallel()
	if f := require.Must(sandbox.Detect())(t); !f.Mounts || !f.Proc || !f.Network || f.Landlock == 0 || !f.Notify {
		t.Skipf("this system does not enforce everything: %+v", f)
	}
	w := newWorld(t, "fs")
	w.configure("defaults:", "  sandbox: {level: strict}")
	call := []string{"call", "fs.list", "--grant", "fs:read"}
	w.run(call...).exits(exit.Unavailable).says(pins.LockName)
	w.run("plugins", "lock").exits(exit.Done)
	w.run(call...).exits(exit.Done)
}
