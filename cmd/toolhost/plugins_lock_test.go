package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
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
	require.NoError(w.t, os.Remove(path))
}

// An operator pins what is there; a change is refused with what was expected and found,
// shown by --check, and accepted by the same command again.
func TestPluginsLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "buffer")
	lock := filepath.Join(w.root, pins.LockName)
	config := filepath.Join(w.root, "toolhost.yaml")
	require.NoError(t, os.WriteFile(config, nil, 0o600))
	run := func(args ...string) outcome { return w.run(append(args, "--config", config)...) }
	run("plugins", "lock", "--check").exits(1).says("there is no", "toolhost plugins lock")
	run("plugins", "lock").exits(0).prints("fs", "2 plugins are pinned in")
	run("plugins", "lock", "--check").exits(0).prints("2 plugins are as pinned")
	run("tools", "show", "fs.read").exits(0)

	// To look is not to run: what is not pinned, exchanged or missing is a difference, and starts nothing.
	w.remove("fs")
	w.remove("buffer")
	exchanged, evil := w.script("fs"), w.script("evil")
	run("plugins", "lock", "--check").exits(1).prints("fs: the binary is sha256:", "evil: not pinned", "buffer: pinned as").
		says("not as toolhost.lock pins them")
	var found lockReport
	run("plugins", "lock", "--check", "--json").exits(1).json(&found)
	kinds := map[string]lockfile.Kind{}
	for _, d := range found.Differences {
		kinds[d.Plugin] = d.Kind
	}
	want := map[string]lockfile.Kind{"evil": lockfile.Added, "fs": lockfile.Binary, "buffer": lockfile.Removed}
	if !maps.Equal(kinds, want) || len(found.Differences) != len(want) {
		t.Errorf("the differences are %+v", found.Differences)
	}
	w.ran(exchanged, false)
	w.ran(evil, false)

	// Other bytes under the name, and a plugin that is not pinned.
	w.remove("evil")
	w.remove("fs")
	w.install("introspection", "fs")
	w.install("player", "player")
	run("call", "play.echo").exits(6).says("not what toolhost.lock pins", "toolhost plugins lock")
	run("plugins").exits(0).prints("refused")
	var change lockReport
	run("plugins", "lock", "--yes", "--json").exits(0).json(&change) // it needs more
	if change.File != lock || change.Plugins != 2 || len(change.Differences) == 0 {
		t.Errorf("what changed is %+v", change)
	}
	run("call", "play.echo").exits(0)

	require.NoError(t, os.WriteFile(lock, []byte("format 1\nfs binary"), 0o600))
	run("call", "play.echo").exits(6).says(pins.LockName)
	run("plugins", "lock", "--check").exits(1).says(pins.LockName)
	run("plugins", "lock").exits(0).says("is replaced")
	w.env = slices.DeleteFunc(w.env, func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_STATE_HOME=")
	})
	run("plugins", "lock", "--log-level", "error").exits(0).says("lock: required in the configuration") // no place for the record
	text, err := os.ReadFile(lock)
	if err != nil || !strings.Contains(string(text), "format 2\n") || !strings.Contains(string(text), "player binary "+runtime.GOOS+"/"+runtime.GOARCH+" sha256:") {
		t.Errorf("the lock is %q, %v", text, err)
	}
}

// What does not start keeps the pin that it had, and the exit status says so. The others
// are pinned.
func TestLockOfWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	lock := filepath.Join(w.root, pins.LockName)
	w.run("plugins", "lock").exits(0)
	before := require.Must(lockfile.Read(lock))(t)
	w.remove("player")
	w.remove("fs")
	w.script("player")
	w.script("fresh")
	w.install("introspection", "introspection")
	var change lockReport
	w.run("plugins", "lock", "--json").exits(1).
		says("fresh (it is not pinned)", "player (it keeps its previous pin)").json(&change)
	equalLists(t, "what failed", change.Failed, []unpinned{{"fresh", false}, {"player", true}})
	now := require.Must(lockfile.Read(lock))(t)
	equalLists(t, "what is pinned", now.Names(), []string{"introspection", "player"})
	equal(t, "the pin", now.Plugins["player"].SHA256, before.Plugins["player"].SHA256)

	// A file that cannot be run is not one that was removed.
	require.NoError(t, os.Chmod(filepath.Join(w.plugins, "player"), 0o644))
	w.remove("fresh")
	w.run("plugins", "lock").exits(1).says("player (it keeps its previous pin)")
	w.remove("player")

	// One that is pinned and does not start cannot be compared, which is not a yes.
	w.install("quitter", "quitter")
	text := require.Must(os.ReadFile(filepath.Join(w.plugins, "quitter")))(t)
	now = require.Must(lockfile.Read(lock))(t)
	now.Plugins["quitter"] = lockfile.Entry{SHA256: fmt.Sprintf("%x", sha256.Sum256(text)), Definitions: strings.Repeat("0", 64), Version: "1"}
	require.NoError(t, now.Write(lock))
	w.bare("trust", lock, "--yes").exits(0)
	o := w.run("plugins", "lock", "--check").exits(1).prints("quitter: it did not start").says("no license")
	assert.NotContainsf(t, o.stdout, "introspection:", "the neighbour differs too")
	w.remove("quitter")
	w.run("plugins", "disable", "introspection").exits(0)
	w.run("plugins", "lock").exits(0).prints("player: pinned as", "1 plugin is pinned")
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
		there := *w
		there.root = dir
		return there.run(args...)
	}
	w.run("plugins", "lock").exits(0)
	w.run("call", "play.echo").exits(0)
	from(elsewhere, "call", "play.echo").exits(0)      // by the same lock
	another := filepath.Join(elsewhere, pins.LockName) // takes nothing away from the one that is on record
	require.NoError(t, os.WriteFile(another, require.Must(os.ReadFile(lock))(t), 0o600))
	from(elsewhere, "plugins", "lock", "--off").exits(5).says(another+" would be removed", lock+" stays, and pins plugins")
	w.removeFile(another)
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
	record := filepath.Join(w.state, "toolhost", "locked.json")
	require.NoError(t, os.WriteFile(record, []byte("{"), 0o600))
	w.run("call", "play.echo").exits(2).says("locked.json", "mend or remove")
	w.removeFile(record)
	w.run("tools").exits(0) // it is as the command wrote it
	w.run("plugins", "lock").exits(0)
	var off unlockReport
	w.run("plugins", "lock", "--off", "--yes", "--json").exits(0).json(&off)
	if off.Removed != lock || paths.Exists(lock) ||
		!slices.Equal(off.Directories, []string{w.plugins}) || !slices.Equal(off.Files, []string{lock}) {
		t.Errorf("what was taken away is %+v", off)
	}
	w.run("plugins", "lock", "--check", "--yes").exits(2)
	w.run("plugins", "lock", "--off", "--check").exits(2)
}

// At a lock's path, everything that is not a lock keeps all plugins from running, until the
// configuration has another word, if it is the operator's.
func TestLockThatIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	lock, pinned := filepath.Join(w.root, pins.LockName), filepath.Join(w.root, "pins")
	w.run("plugins", "lock").exits(0)
	evil := w.script("evil")
	for what, put := range map[string]func() error{
		"link":      func() error { return os.Symlink(filepath.Join(w.root, "nowhere"), lock) },
		"directory": func() error { return os.Mkdir(lock, 0o700) },
		"FIFO":      func() error { return syscall.Mkfifo(lock, 0o600) },
	} {
		w.removeFile(lock)
		require.NoError(t, put())
		w.run("tools").exits(6).says(lock, what)
		w.run("plugins", "lock", "--check").exits(1).says(lock, what)
	}
	w.removeFile(lock)
	w.run("tools").exits(6).says(lock + " is missing")
	w.ran(evil, false)
	w.remove("evil")

	config := filepath.Join(w.root, "toolhost.yaml")
	named := func(args ...string) outcome { t.Helper(); return w.run(append(args, "--config", config)...) }
	w.configure("lock: required")
	named("call", "play.echo").exits(6).says(lock + " is missing")
	named("plugins", "lock", "--off", "--yes").exits(2).says("says lock: required")
	w.configure("lock: pins")
	named("plugins", "lock").exits(0).prints("pinned in " + pinned)
	w.removeFile(pinned)
	w.configure("lock: off")
	named("plugins", "lock").exits(2).says("says lock: off")
	named("plugins", "lock", "--check").exits(1).says("says lock: off")
	named("call", "play.echo").exits(0)
	w.found("lock: off # found\n")
	w.run("call", "play.echo").exits(6).says(pinned + " is missing") // the file that was found takes nothing away
	w.run("trust", "--yes").exits(0)
	w.run("call", "play.echo").exits(0)
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
	file := filepath.Join(w.state, "toolhost", known.FileName)
	w.removeFile(file)
	require.NoError(t, os.Symlink(file+"-target", file))
	w.run("tools").exits(2).says(file, "a file that is not there")
	w.removeFile(file)
	w.run("tools").exits(0)
	config := filepath.Join(w.root, session.DefaultConfig)
	require.NoError(t, os.Symlink(config+"-target", config))
	w.run("tools").exits(0).says(config + " is not trusted")
	w.run("tools", "--config", config).exits(2).says(config, "a file that is not there")
}
