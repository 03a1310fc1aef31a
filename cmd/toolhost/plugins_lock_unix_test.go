//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/internal/lockfile"
)

// script puts a script into the plugin directory that leaves a file where it ran, and is
// no plugin, and returns that file. A process of its own writes it, as a file that this
// one has open for writing could not be run.
func (w *world) script(name string) (trace string) {
	w.t.Helper()
	trace = filepath.Join(w.root, "ran-"+name)
	path := filepath.Join(w.plugins, name)
	cmd := exec.Command("/bin/sh", "-c",
		`printf '#!/bin/sh\ntouch "%s"\nexit 1\n' "$1" >"$0.tmp" && chmod 755 "$0.tmp" && mv "$0.tmp" "$0"`, path, trace)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return trace
}

// ran checks whether a script has run.
func (w *world) ran(trace string, want bool) {
	w.t.Helper()
	if paths.Exists(trace) != want {
		w.t.Errorf("%s is there: %v, want %v", trace, !want, want)
	}
}

func (w *world) removeFile(path string) {
	w.t.Helper()
	if err := os.Remove(path); err != nil {
		w.t.Fatal(err)
	}
}

// To look is not to run: --check starts nothing that is not pinned, and everything that
// differs is a difference, whether it starts or not.
func TestLockCheckRunsNothingThatIsNotPinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player", "introspection")
	w.run("plugins", "lock").exits(0)
	check := func(status int) lockReport {
		t.Helper()
		var c lockReport
		w.run("plugins", "lock", "--check", "--json").exits(status).json(&c)
		return c
	}
	equal(t, "differences", len(check(0).Differences), 0)

	evil := w.script("evil") // one that is not pinned
	w.run("plugins", "lock", "--check").exits(1).prints("evil: not pinned").says("not as toolhost.lock pins them")
	w.ran(evil, false)

	w.remove("player") // one that was exchanged
	exchanged := w.script("player")
	w.run("plugins", "lock", "--check").exits(1).prints("player: the binary is sha256:")
	w.ran(exchanged, false)

	w.remove("introspection") // one that is missing
	kinds := map[string][]lockfile.Kind{}
	for _, d := range check(1).Differences {
		kinds[d.Plugin] = append(kinds[d.Plugin], d.Kind)
	}
	for name, want := range map[string]lockfile.Kind{"evil": lockfile.Added, "player": lockfile.Binary, "introspection": lockfile.Removed} {
		if !slices.Equal(kinds[name], []lockfile.Kind{want}) {
			t.Errorf("%s is %v, want %v", name, kinds[name], want)
		}
	}
	equal(t, "plugins that differ", len(kinds), 3)
	w.ran(evil, false)
	w.ran(exchanged, false)
}

// A pinned plugin that does not start cannot be compared, which is not a yes.
func TestLockCheckOfWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "quitter")
	w.run("plugins", "lock").exits(1).says("quitter (it is not pinned)")
	lock := filepath.Join(w.root, pins.LockName)
	pins, err := lockfile.Read(lock)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.plugins, "quitter"))
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	pins.Plugins["quitter"] = lockfile.Entry{SHA256: sum, Definitions: strings.Repeat("0", 64), Version: "1"}
	if err := pins.Write(lock); err != nil {
		t.Fatal(err)
	}
	o := w.run("plugins", "lock", "--check").exits(1).prints("quitter: it did not start").says("no license")
	if strings.Contains(o.stdout, "fs:") {
		t.Errorf("the neighbour differs too:\n%s", o.stdout)
	}
}

// What does not start keeps the pin that it had, and the exit status says so. The others
// are pinned.
func TestLockOfWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	lock := filepath.Join(w.root, pins.LockName)
	w.run("plugins", "lock").exits(0)
	before, err := lockfile.Read(lock)
	if err != nil {
		t.Fatal(err)
	}
	w.remove("player")
	w.remove("fs")
	w.script("player")
	w.script("fresh")
	w.install("introspection", "introspection")
	var change lockReport
	w.run("plugins", "lock", "--json").exits(1).
		says("fresh (it is not pinned)", "player (it keeps its previous pin)").json(&change)
	equalLists(t, "what failed", change.Failed, []unpinned{{"fresh", false}, {"player", true}})
	now, err := lockfile.Read(lock)
	if err != nil {
		t.Fatal(err)
	}
	equalLists(t, "what is pinned", now.Names(), []string{"introspection", "player"})
	equal(t, "the pin", now.Plugins["player"].SHA256, before.Plugins["player"].SHA256)

	// A file that cannot be run is not one that was removed.
	if err := os.Chmod(filepath.Join(w.plugins, "player"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.remove("fresh")
	w.run("plugins", "lock").exits(1).says("player (it keeps its previous pin)")
	w.remove("player")
	w.run("plugins", "disable", "introspection").exits(0)
	w.run("plugins", "lock").exits(0).prints("player: pinned as", "1 plugins are pinned")
	w.run("plugins", "lock", "--check").exits(0)
}

// A lock that is removed leaves a record: another process refuses too, whatever the
// current directory, until the operator says otherwise.
func TestLockThatIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	lock := filepath.Join(w.root, pins.LockName)
	elsewhere := t.TempDir()
	from := func(dir string, args ...string) outcome {
		t.Helper()
		cmd := w.command(append(args, "--plugin-dir", w.plugins)...)
		cmd.Dir = dir
		return w.finish(cmd)
	}
	w.run("plugins", "lock").exits(0)
	w.run("call", "play.echo").exits(0)
	from(elsewhere, "call", "play.echo").exits(0) // by the same lock
	evil := w.script("evil")
	from(elsewhere, "call", "play.echo").exits(0).says("evil does not run", "the pins are those of "+lock)
	w.ran(evil, false)
	from(elsewhere, "plugins", "lock", "--check").exits(1).prints("evil: not pinned")

	w.removeFile(lock)
	for _, dir := range []string{w.root, elsewhere} {
		from(dir, "call", "play.echo").exits(6).says(lock+" is missing", "toolhost plugins lock --off")
		from(dir, "plugins", "lock", "--check").exits(1).says("there is no " + lock)
	}
	w.ran(evil, false)

	// It takes a word of the operator's to go on without.
	from(elsewhere, "plugins", "lock", "--off").exits(5).says("would be removed from the record", "--yes")
	from(elsewhere, "call", "play.echo").exits(6)
	from(elsewhere, "plugins", "lock", "--off", "--yes").exits(0).prints(w.plugins + " is removed from the record of pinned directories")
	from(elsewhere, "plugins", "lock", "--off", "--yes").exits(0).prints("nothing is pinned here")
	w.ran(evil, false)
	w.run("call", "play.echo").exits(0)
	w.ran(evil, true)

	// Pinning again is the other way; --off takes the lock along.
	w.remove("evil")
	w.run("plugins", "lock").exits(0)
	w.removeFile(lock)
	w.run("call", "play.echo").exits(6)
	from(elsewhere, "plugins", "lock").exits(0).prints("2 plugins are pinned in " + lock)
	w.run("call", "play.echo").exits(0)
	var off unlockReport
	w.run("plugins", "lock", "--off", "--yes", "--json").exits(0).json(&off)
	if off.Removed != lock || paths.Exists(lock) ||
		!slices.Equal(off.Directories, []string{w.plugins}) || !slices.Equal(off.Files, []string{lock}) {
		t.Errorf("what was taken away is %+v", off)
	}
	w.run("plugins", "lock", "--check", "--yes").exits(2)
	w.run("plugins", "lock", "--off", "--check").exits(2)
}

// Seeing a lock that came with a project, and is trusted, is enough for it to be wanted,
// and every lock that is on record has to agree.
func TestLockThatWasSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	lock := filepath.Join(w.root, pins.LockName)
	record := filepath.Join(w.state, "toolhost", "locked.json")
	w.run("plugins", "lock").exits(0)
	w.removeFile(record)
	w.run("tools").exits(0).says(lock + " is not trusted")
	w.run("trust", "--yes").exits(0)
	w.run("tools").exits(0)
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	w.removeFile(lock)
	w.run("call", "play.echo").exits(6).says(lock + " is missing")

	// Another lock, in another directory, does not stand for the one that is missing, and
	// takes nothing away from it.
	other := t.TempDir()
	in := func(args ...string) outcome {
		t.Helper()
		cmd := w.command(append(args, "--plugin-dir", w.plugins)...)
		cmd.Dir = other
		return w.finish(cmd)
	}
	if err := os.WriteFile(filepath.Join(other, pins.LockName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	in("call", "play.echo").exits(6).says(lock + " is missing")
	w.write(pins.LockName, string(text))
	in("call", "play.echo").exits(0)
	in("plugins", "lock", "--off").exits(5).says(filepath.Join(other, pins.LockName)+" would be removed", lock+" stays, and pins plugins")
	evil := w.script("evil")
	w.write(pins.LockName, string(text)+"evil binary sha256:"+strings.Repeat("0", 64)+"\n")
	in("call", "play.echo").exits(6).says(lock) // which is damaged now
	w.ran(evil, false)

	// A record that is damaged decides nothing.
	w.write(pins.LockName, string(text))
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run("call", "play.echo").exits(2).says("locked.json", "mend or remove")
	w.removeFile(record)
	if err := os.Symlink(record+"-target", record); err != nil {
		t.Fatal(err)
	}
	w.run("call", "play.echo").exits(2).says("locked.json", "a file that is not there")
}

// At a lock's path, everything that is not a lock keeps all plugins from running.
func TestLockThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lock := filepath.Join(w.root, pins.LockName)
	for what, put := range map[string]func() error{
		"link":      func() error { return os.Symlink(filepath.Join(w.root, "nowhere"), lock) },
		"directory": func() error { return os.Mkdir(lock, 0o700) },
		"FIFO":      func() error { return syscall.Mkfifo(lock, 0o600) },
	} {
		w.run("plugins", "lock").exits(0)
		w.removeFile(lock)
		evil := w.script("evil")
		if err := put(); err != nil {
			t.Fatal(err)
		}
		w.run("tools").exits(0).says(lock, what)
		w.run("plugins", "lock", "--check").exits(1).says(lock, what)
		w.ran(evil, false)
		w.removeFile(lock)
		w.run("tools").exits(0).says(lock + " is missing")
		w.ran(evil, false)
		w.run("plugins", "lock", "--off", "--yes").exits(0)
		w.removeFile(filepath.Join(w.plugins, "evil"))
	}
}

// The configuration has the last word if it is the operator's: if its file was named, or lies
// where no tool writes.
func TestLockOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	config := filepath.Join(w.root, "toolhost.yaml")
	pinned := filepath.Join(w.root, "pins")
	call := []string{"call", "play.echo"}
	named := append(slices.Clone(call), "--config", config)

	trusted := func(content string) {
		t.Helper()
		w.write("toolhost.yaml", content)
		w.run("trust", "--yes").exits(0)
	}
	trusted("lock: required\n")
	w.run(call...).exits(6).says(filepath.Join(w.root, pins.LockName) + " is missing")
	w.run("plugins", "lock", "--off", "--yes").exits(2).says("says lock: required")
	w.run("plugins", "lock").exits(0)
	w.run(call...).exits(0)

	trusted("lock: pins\n")
	w.run(call...).exits(6).says(pinned + " is missing")
	w.run("plugins", "lock").exits(0).prints("pinned in " + pinned)
	w.run(call...).exits(0)

	// A file that was merely found takes nothing away, unless it is named or trusted.
	w.write("toolhost.yaml", "lock: off\n")
	w.removeFile(pinned)
	w.run(call...).exits(6).says(pinned + " is missing")
	w.run("plugins", "lock", "--config", config).exits(2).says("says lock: off")
	w.run("plugins", "lock", "--check", "--config", config).exits(1).says("says lock: off")
	w.run(named...).exits(0)
	w.run("trust", "--yes").exits(0)
	w.run(call...).exits(0)

	// So does one that names another lock.
	w.write("toolhost.yaml", "")
	w.run("plugins", "lock", "--off", "--yes").exits(0)
	w.run("plugins", "lock").exits(0)
	w.removeFile(filepath.Join(w.root, pins.LockName))
	trusted("lock: pins\n")
	w.run(append([]string{"plugins", "lock"}, "--config", config)...).exits(0)
	w.run(named...).exits(0)
}

// A configuration file can be a link: the lock next to its target counts if there is none next
// to the link.
func TestLockNextToALinkedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.write("toolhost.yaml", "")
	w.run("plugins", "lock").exits(0)
	w.removeFile(filepath.Join(w.state, "toolhost", "locked.json"))
	evil := w.script("evil")
	other := t.TempDir()
	link := filepath.Join(other, "linked.yaml")
	if err := os.Symlink(filepath.Join(w.root, "toolhost.yaml"), link); err != nil {
		t.Fatal(err)
	}
	w.run("call", "play.echo", "--config", link).exits(0).says("evil does not run")
	w.ran(evil, false)
}

// Without a place to keep that there was a lock, commands work by the lock that is there,
// and the one that writes it says what is missing.
func TestLockWithoutAStateDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.env = slices.DeleteFunc(w.env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "HOME" || name == "XDG_STATE_HOME"
	})
	run := func(args ...string) outcome { t.Helper(); return w.run(append(args, "--log-level", "error")...) }
	run("plugins", "lock").exits(0).says("lock: required in the configuration")
	evil := w.script("evil")
	run("tools").exits(0).says("evil does not run")
	run("plugins", "lock", "--check").exits(1)
	w.ran(evil, false)
	run("plugins", "lock", "--off", "--yes").exits(0).prints("is removed")
	run("tools").exits(0)
	w.ran(evil, true)
}

// Removing the lock under a daemon lets nothing run, is logged and shown, and ends when
// the operator says so.
func TestDaemonWithoutItsLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	lock := filepath.Join(w.root, pins.LockName)
	w.run("plugins", "lock").exits(0)
	s := w.serve()
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
	before := w.status("player")
	w.removeFile(lock)
	s.hangUp()
	s.await(lock + " is missing")
	evil := w.script("evil")
	s.await("evil does not run")
	w.remove("player")
	w.install("introspection", "player")
	s.await("player was not upgraded")
	s.hangUp()
	s.await(lock + " is missing")
	equal(t, "the process", w.status("player").PID, before.PID)
	w.run("plugins", "show", "player").exits(0).prints("upgrade", lock+" is missing")
	w.ran(evil, false)

	w.run("plugins", "lock", "--off", "--yes").exits(0)
	w.until("the script has run", func() bool { return paths.Exists(evil) })
	w.until("the new player serves", func() bool {
		o := w.run("tools", "show", "describe_symbol")
		return o.status == 0
	})
}

// A link that leads nowhere does not stand for a file that is not there, whatever the file
// decides.
func TestFilesThatDecideAndLeadNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("plugins", "disable", "player").exits(0)
	file := filepath.Join(w.state, "toolhost", string(toggle.Disabled))
	w.removeFile(file)
	if err := os.Symlink(file+"-target", file); err != nil {
		t.Fatal(err)
	}
	w.run("tools").exits(2).says(file, "a file that is not there")
	w.removeFile(file)
	w.run("tools").exits(0)
	config := filepath.Join(w.root, session.DefaultConfig)
	if err := os.Symlink(config+"-target", config); err != nil {
		t.Fatal(err)
	}
	w.run("tools").exits(0).says(config + " is not trusted")
	w.run("tools", "--config", config).exits(2).says(config, "a file that is not there")
}
