package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
)

// An operator pins what is there; a change is refused with what was expected and found,
// shown by --check, and accepted by the same command again.
func TestPluginsLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	lock := filepath.Join(w.root, pins.LockName)
	config := filepath.Join(w.root, "toolhost.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) outcome { return w.run(append(args, "--config", config)...) }
	run("plugins", "lock", "--check").exits(1).says("there is no", "toolhost plugins lock")
	run("plugins", "lock").exits(0).prints("fs", "1 plugins are pinned in")
	run("plugins", "lock", "--check").exits(0).prints("1 plugins are as pinned")
	run("tools", "show", "fs.read").exits(0)

	// Other bytes under the name, and a plugin that is not pinned.
	if err := os.Remove(filepath.Join(w.plugins, "fs")); err != nil {
		t.Fatal(err)
	}
	w.install("introspection", "fs")
	w.install("player", "player")
	run("plugins", "lock", "--check").exits(1).prints("fs", "player").says("not as toolhost.lock pins them")
	run("call", "play.echo").exits(6).says("not what toolhost.lock pins", "toolhost plugins lock")
	run("plugins").exits(0).prints("refused")
	var change lockReport
	run("plugins", "lock", "--yes", "--json").exits(0).json(&change) // it needs more
	if change.File != lock || change.Plugins != 2 || len(change.Differences) == 0 {
		t.Errorf("what changed is %+v", change)
	}
	run("call", "play.echo").exits(0)

	if err := os.WriteFile(lock, []byte("format 1\nfs binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("call", "play.echo").exits(6).says(pins.LockName)
	run("plugins", "lock", "--check").exits(1).says(pins.LockName)
	run("plugins", "lock").exits(0).says("is replaced")
	text, err := os.ReadFile(lock)
	if err != nil || !strings.Contains(string(text), "format 2\n") || !strings.Contains(string(text), "player binary "+runtime.GOOS+"/"+runtime.GOARCH+" sha256:") {
		t.Errorf("the lock is %q, %v", text, err)
	}
}
