package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// leaver is a user with a project, who installs, and takes away what an install left behind.
type leaver struct {
	*world
	project, elsewhere string
	packages           []string
}

// in runs a command in a directory.
func (l *leaver) in(dir string, args ...string) outcome {
	l.t.Helper()
	there := *l.world
	there.root = dir
	return there.bare(args...)
}

// Whatever happens to a project in which plugins were installed, none is stopped that lies outside of
// it: neither what was installed, nor what was there before.
func TestInstallLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	const pinned, config = "plugins: {greeter: {ask_timeout: 10s}}\n", "toolhost.yaml"
	acts := map[string]func(l *leaver){
		"install":   func(l *leaver) { l.in(l.project, "plugins", "install", l.packages[0], "--yes").exits(0) },
		"pin":       func(l *leaver) { l.in(l.project, "plugins", "install", l.packages[0], "--yes", "--pin").exits(0) },
		"no-lock":   func(l *leaver) { l.in(l.project, "plugins", "install", l.packages[0], "--yes", "--no-lock").exits(0) },
		"upgrade":   func(l *leaver) { l.in(l.elsewhere, "plugins", "install", l.packages[1], "--yes").exits(0) },
		"upgraded":  func(l *leaver) { l.in(l.project, "plugins", "install", l.packages[1], "--yes").exits(0) },
		"rollback":  func(l *leaver) { l.in(l.elsewhere, "plugins", "rollback", "greeter").exits(0) },
		"lock":      func(l *leaver) { l.in(l.project, "plugins", "lock", "--yes").exits(0) },
		"sync":      func(l *leaver) { l.in(l.project, "plugins", "install").exits(0) },
		"call":      func(l *leaver) { l.in(l.project, "call", "greet.version").exits(0) },
		"configure": func(l *leaver) { l.put(config, pinned); l.in(l.project, "trust", "--yes").exits(0) },
		"off":       func(l *leaver) { l.put(config, "lock: off\n"); l.in(l.project, "trust", "--yes").exits(0) },
		"clean":     func(l *leaver) { l.clean() },
		"delete":    func(l *leaver) { require.NoError(l.t, os.RemoveAll(l.project)) },
		"new":       func(l *leaver) { l.project = l.t.TempDir() },
		"move": func(l *leaver) {
			require.NoError(l.t, os.Rename(l.project, l.project+"-moved"))
			l.project += "-moved"
		},
		"stranger": func(l *leaver) { l.stranger() },
	}
	_ = newWorld(t) // which builds the programs
	var packages []string
	for _, version := range []string{"1.0.100", "1.1.100"} {
		file, _ := parcel{version: version}.ship(t, t.TempDir())
		packages = append(packages, file)
	}
	for i, order := range [][]string{
		{"install", "clean"},
		{"install", "delete"},
		{"install", "move", "install"},
		{"pin", "call", "clean"},
		{"pin", "call", "delete"},
		{"pin", "move", "call"},
		{"pin", "new", "pin", "delete"},
		{"pin", "upgrade"},
		{"pin", "upgrade", "clean"},
		{"pin", "upgraded", "rollback", "delete"},
		{"no-lock", "pin", "clean"},
		{"no-lock", "install", "delete"},
		{"configure", "install", "call", "clean"},
		{"configure", "install", "upgrade", "delete"},
		{"configure", "install", "lock", "clean"},
		{"pin", "lock", "upgrade", "delete"},
		{"install", "off", "upgraded", "delete"},
		{"configure", "install", "new", "configure", "upgraded", "clean"},
		{"pin", "sync", "clean", "pin"},
		{"pin", "stranger", "clean"},
	} {
		t.Run(fmt.Sprint(i, order), func(t *testing.T) {
			t.Parallel()
			w := newInstallWorld(t)
			l := &leaver{world: w, project: w.root, elsewhere: t.TempDir(), packages: packages}
			own := filepath.Join(w.state, "data", "toolhost", "plugins")
			require.NoError(t, os.MkdirAll(own, 0o700))
			copyFile(t, filepath.Join(built.dir, "player"), filepath.Join(own, "player"))
			require.NoError(t, os.Chmod(filepath.Join(own, "player"), 0o700))
			for _, act := range order {
				acts[act](l)
			}
			l.in(l.elsewhere, "call", "greet.version").exits(0)
			o := l.in(l.elsewhere, "call", "play.echo", "--arg", "text=x").exits(0)
			equal(t, "what it says", o.stderr, "")
		})
	}
}

func (l *leaver) put(name, content string) {
	require.NoError(l.t, os.WriteFile(filepath.Join(l.project, name), []byte(content), 0o600))
}

// clean is git clean -fdx.
func (l *leaver) clean() {
	for _, args := range [][]string{{"init", "-q"}, {"clean", "-qfdx"}} {
		cmd := exec.Command("git", args...) //nolint:noctx // it ends at once
		cmd.Dir = l.project
		require.NoError(l.t, cmd.Run())
	}
}

// stranger is another user of the same project.
func (l *leaver) stranger() {
	other := newInstallWorld(l.t)
	other.root = l.project
	other.bare("plugins", "install", l.packages[1], "--yes").exits(5).says("toolhost trust")
	other.bare("trust", "--yes").exits(0)
	other.bare("plugins", "install").exits(0)
	other.bare("call", "greet.version").exits(0).prints("1.0.100")
	other.root = l.elsewhere
	other.bare("plugins", "install", l.packages[1], "--yes").exits(0)
	other.bare("call", "greet.version").exits(0).prints("1.1.100")
}

// What failed closed still does: the user's lock that is gone or broken lets nothing run that it
// pinned, and the command that the refusal names makes it again, from within a project too. A
// project's lock that is gone stops commands in the project.
func TestInstallFailsClosed(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	l := &leaver{world: w, project: w.root, elsewhere: t.TempDir()}
	file, _ := parcel{version: "1.0.100"}.ship(t, t.TempDir())
	newer, _ := parcel{version: "1.1.100"}.ship(t, t.TempDir())
	l.in(l.project, "plugins", "install", file, "--yes").exits(0).prints("pinned in " + w.userLock() + "\n")
	require.NoError(t, os.Mkdir(filepath.Join(l.project, "bin"), 0o700)) // an author's build of the next version
	copyFile(t, greeter(t, "1.1.100"), filepath.Join(l.project, "bin", "greeter"))
	require.NoError(t, os.Chmod(filepath.Join(l.project, "bin", "greeter"), 0o700))
	l.in(l.project, "call", "greet.version", "--plugin-dir", "bin").exits(0).prints("1.1.100")
	l.in(l.project, "plugins", "install", file, "--yes", "--pin").exits(0).prints("toolhost.lock")
	for name, spoil := range map[string]func(){
		"gone":   func() { w.removeFile(w.userLock()) },
		"broken": func() { require.NoError(t, os.WriteFile(w.userLock(), []byte("format 9\n"), 0o600)) },
	} {
		for _, dir := range []string{l.elsewhere, l.project} {
			spoil()
			l.in(dir, "call", "greet.version").exits(6).says(w.userLock(), "toolhost plugins lock")
			l.in(dir, "plugins", "install", newer, "--yes").exits(2).says(w.userLock(), "toolhost plugins lock")
			l.in(dir, "plugins", "lock", "--yes").exits(0)
			if o := l.in(dir, "call", "greet.version"); o.status != 0 {
				t.Errorf("%s, in %s: %s", name, dir, o.stderr)
			}
		}
	}
	project := filepath.Join(l.project, "toolhost.lock")
	l.in(l.project, "plugins", "install", newer, "--yes").exits(0).prints(project, w.userLock())
	w.removeFile(project)
	l.in(l.project, "call", "greet.version").exits(6).says(project+" is missing", "toolhost plugins lock")
	l.in(l.elsewhere, "call", "greet.version").exits(0).prints("1.1.100")
	l.in(l.project, "plugins", "install", newer, "--yes", "--pin").exits(0)
	l.in(l.project, "call", "greet.version").exits(0)

	// A file that toolhost did not install is not pinned there.
	copyFile(t, filepath.Join(built.dir, "player"), w.installed("plugins", "player"))
	require.NoError(t, os.Chmod(w.installed("plugins", "player"), 0o700))
	l.in(l.elsewhere, "call", "play.echo", "--arg", "text=x").exits(6).says("player does not run", w.userLock())
	l.in(l.project, "plugins", "lock", "--off", "--yes").exits(0)
	l.in(l.project, "call", "play.echo", "--arg", "text=x").exits(6)
	l.in(l.elsewhere, "plugins", "lock", "--off", "--yes").exits(0).prints(w.userLock() + " is removed")
	l.in(l.elsewhere, "call", "play.echo", "--arg", "text=x").exits(0)
}
