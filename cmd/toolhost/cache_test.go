package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// started is how often each plugin was started by a command that lists them.
func (w *world) started() map[string]int {
	w.t.Helper()
	var list pluginList
	w.run("plugins", "--json").exits(0).json(&list)
	out := map[string]int{}
	for _, s := range list.Plugins {
		out[s.Name] = s.Starts
		if idle := s.State == plugin.Idle; idle != (s.Starts == 0) {
			w.t.Errorf("%s is %s after %d starts", s.Name, s.State, s.Starts)
		}
	}
	return out
}

// What a plugin was asked once, by whatever command, is known to all.
func TestCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	cold := w.run("tools", "--json").exits(0)
	for name, n := range w.started() {
		equal(t, "the starts of "+name, n, 0)
	}
	equal(t, "the list", w.run("tools", "--json").exits(0).stdout, cold.stdout)
	// The log tells of every start.
	for _, args := range [][]string{{"tools"}, {"tools", "show", "fs.read"}, {"tools", "--for", "openai"}, {"plugins"}, {"call", "no.such"}} {
		if o := w.run(append(args, "--log-level", "debug")...); strings.Contains(o.stderr, "plugin started") {
			t.Errorf("%q starts a plugin:\n%s", args, o.stderr)
		}
	}
	o := w.run("call", "play.echo", `{"text":"hello"}`, "--log-level", "debug").exits(0)
	equal(t, "the number of starts", strings.Count(o.stderr, "plugin started"), 1)
	o.says("plugin started: plugin=player")

	w.env = append(w.env, session.CacheVariable+"="+session.Off)
	for name, n := range w.started() {
		equal(t, "without a cache, the starts of "+name, n, 1)
	}
}

// Neither the argument of a caller nor what the environment has is in the cache.
func TestCacheHasNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.env = append(w.env, "GOFLAGS=-tags=hunter2") // which plugins are given
	w.run("call", "play.echo", `{"text":"hunter2"}`).exits(0)
	files := 0
	err := filepath.WalkDir(filepath.Join(w.state, "cache"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		assert.NotContainsf(t, string(content), "hunter2", "%s has it", path)
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestCacheDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	home := t.TempDir()
	w.env = append(w.env, session.CacheVariable+"=", "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "caches"))
	w.run("tools").exits(0)
	if runtime.GOOS == "linux" {
		entries, err := filepath.Glob(filepath.Join(home, "caches", "toolhost", "toolhost-manifests", strings.Repeat("?", 64)+".json"))
		if err != nil || len(entries) != 1 {
			t.Errorf("the default directory has %v, %v", entries, err)
		}
	}
	// A cache that cannot be used is not a failure, and is told of.
	file := filepath.Join(home, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	w.env = append(w.env, session.CacheVariable+"="+file)
	w.run("tools").exits(0).prints("play.echo").says("the cache is not used", "plugins are started")
	open := filepath.Join(home, "open")
	require.NoError(t, os.Mkdir(open, 0o700)) //nolint:gosec // a directory
	require.NoError(t, os.Chmod(open, 0o777)) //nolint:gosec // what is to be refused
	w.env = append(w.env, session.CacheVariable+"="+open)
	w.run("tools").exits(0).prints("play.echo").says("others may write to it")
}

// A cache in a project costs the project nothing: not the files that are called as the
// cache's were, and not what a link leads to, however old all of them are.
func TestCacheInAProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	elsewhere, project := t.TempDir(), t.TempDir()
	w.configure("cache_dir: " + project)
	long := time.Now().Add(-60 * 24 * time.Hour)
	files := []string{
		filepath.Join(project, "manifests", "app.yaml"), filepath.Join(project, "digests"), filepath.Join(project, ".new-chart"),
		filepath.Join(elsewhere, "app.yaml"), filepath.Join(elsewhere, strings.Repeat("a", 64)),
	}
	for _, path := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	allThere := func(when string) {
		t.Helper()
		for _, path := range files {
			if text, err := os.ReadFile(path); err != nil || string(text) != "x" {
				t.Errorf("%s, %s is %q, %v", when, path, text, err)
			}
		}
	}
	w.run("tools").exits(0)
	allThere("with a directory manifests")
	for name, n := range w.started() {
		equal(t, "the starts of "+name, n, 0)
	}

	for _, name := range []string{"manifests", "toolhost-manifests"} {
		dir := filepath.Join(project, name)
		require.NoError(t, errors.Join(os.Rename(dir, dir+".moved"), os.Symlink(elsewhere, dir)))
		files = slices.DeleteFunc(files, func(path string) bool { return filepath.Dir(path) == dir })
	}
	w.run("tools").exits(0).prints("play.echo").says("the cache is not used", "toolhost did not make it")
	allThere("with links in their place")
}
