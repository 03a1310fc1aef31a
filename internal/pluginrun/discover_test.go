package pluginrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
	write("fs", 0o755)
	write("toolhost-plugin-git", 0o700)
	write("notes.txt", 0o644)
	write(".hidden", 0o755)
	write("fs.bak", 0o755)
	write("fs.dpkg-new", 0o755)
	write("fs.rpmsave", 0o755)
	write("fs.new", 0o755)
	write("fs~", 0o755)
	write("FS", 0o755)
	write("open", 0o757)
	write("bad name", 0o755)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, os.Symlink("fs", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil { // opening it would block
		t.Fatal(err)
	}

	found, skipped, err := pluginrun.Discover(dir)
	require.NoError(t, err)
	var names []string
	for _, c := range found {
		names = append(names, c.Name)
		if !filepath.IsAbs(c.Path) {
			t.Errorf("path %q is not absolute", c.Path)
		}
	}
	if got := strings.Join(names, " "); got != "FS git link" { // entries come sorted, so FS is the first of its name
		t.Errorf("found %q", got)
	}
	want := map[string]string{
		"notes.txt": "not executable", ".hidden": "hidden", "fs.bak": "leftover",
		"fs.dpkg-new": "leftover", "fs.rpmsave": "leftover", "fs.new": "leftover", "fs~": "leftover", "fs": "taken by FS",
		"open": "others may write", "bad name": "not a plugin name", "folder": "directory",
		"dangling": "leads to " + filepath.Join(dir, "nowhere"), "fifo": "not a regular file",
	}
	for _, s := range skipped {
		reason := want[filepath.Base(s.Path)]
		if reason == "" || !strings.Contains(s.Reason, reason) {
			t.Errorf("skipped %s, want a reason with %q", s, reason)
		}
		delete(want, filepath.Base(s.Path))
	}
	for name := range want {
		t.Errorf("%s was not skipped", name)
	}
}

func TestDiscoverRefuses(t *testing.T) {
	t.Parallel()
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	below := filepath.Join(open, "plugins")
	require.NoError(t, os.Mkdir(below, 0o755))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		name, dir, text string
		code            tool.Code
	}{
		{"missing", filepath.Join(open, "none"), "there is no plugin directory", tool.CodeNotFound},
		{"file", file, file + " cannot be a plugin: not executable", tool.CodeUnavailable},
		{"writable", open, "others may write to " + open, tool.CodePermissionDenied},
		{"below a writable one", below, "others may write to " + open, tool.CodePermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := pluginrun.Discover(c.dir)
			if tool.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %s with %q", err, c.code, c.text)
			}
		})
	}
}

// A file stands for itself alone, and in a directory such as /tmp too.
func TestDiscoverFile(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		t.Fatal(err)
	}
	for _, name := range []string{"toolhost-plugin-one", "other"} {
		if err := os.WriteFile(filepath.Join(shared, name), nil, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	path := filepath.Join(shared, "toolhost-plugin-one")
	found, skipped, err := pluginrun.Discover(path)
	if err != nil || len(skipped) > 0 || len(found) != 1 || found[0] != (plugin.Candidate{Name: "one", Path: path}) {
		t.Errorf("found %+v, skipped %v, %v", found, skipped, err)
	}
	if err := os.Chmod(path, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	if _, _, err := pluginrun.Discover(path); err == nil || !strings.Contains(err.Error(), "others may write to it") {
		t.Errorf("a file that others may write: %v", err)
	}
}

func TestDiscoverStickyParent(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		t.Fatal(err)
	}
	dir := filepath.Join(shared, "plugins")
	require.NoError(t, os.Mkdir(dir, 0o755))
	if _, _, err := pluginrun.Discover(dir); err != nil {
		t.Errorf("a sticky parent is refused: %v", err)
	}
}

// A link is as good as what it leads to, if no other user could lead it elsewhere.
func TestDiscoverLinks(t *testing.T) {
	t.Parallel()
	dir, store := realDir(t), realDir(t)
	for _, d := range []string{"v1", "v2", "open", "foreign"} {
		mkdir(t, filepath.Join(store, d), 0o755)
		if err := os.WriteFile(filepath.Join(store, d, "program"), []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		filepath.Join(store, "current"):      "v1", // as Kubernetes has ..data
		filepath.Join(dir, "direct"):         filepath.Join(store, "v2", "program"),
		filepath.Join(dir, "chained"):        filepath.Join(store, "current", "program"),
		filepath.Join(dir, "opened"):         filepath.Join(store, "open", "program"),
		filepath.Join(dir, "via"):            filepath.Join(store, "open", "link"),
		filepath.Join(dir, "stranger"):       filepath.Join(store, "foreign", "program"),
		filepath.Join(dir, "circle"):         "circle",
		filepath.Join(dir, "folder"):         store,
		filepath.Join(store, "open", "link"): filepath.Join(store, "v1", "program"),
	} {
		require.NoError(t, os.Symlink(target, name))
	}
	if err := os.Chmod(filepath.Join(store, "open"), 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	refused := map[string]string{
		"opened": "others may write to " + filepath.Join(store, "open"), "via": "others may write to " + filepath.Join(store, "open"),
		"circle": "too many", "folder": "not a regular file",
	}
	want := map[string]string{
		"direct": filepath.Join(store, "v2", "program"), "chained": filepath.Join(store, "v1", "program"),
	}
	if os.Geteuid() == 0 { // only root can give a directory to another user
		require.NoError(t, os.Chown(filepath.Join(store, "foreign"), 12345, 12345))
		refused["stranger"] = "belongs to another user"
	} else {
		want["stranger"] = filepath.Join(store, "foreign", "program")
	}
	found, skipped, err := pluginrun.Discover(dir)
	require.NoError(t, err)
	for _, c := range found {
		if c.Binary() != want[c.Name] || c.Path != filepath.Join(dir, c.Name) {
			t.Errorf("found %+v, want it to lead to %q", c, want[c.Name])
		}
		delete(want, c.Name)
	}
	for _, s := range skipped {
		name := filepath.Base(s.Path)
		if reason := refused[name]; reason == "" || !strings.Contains(s.Reason, reason) {
			t.Errorf("skipped %s, want a reason with %q", s, reason)
		}
		delete(refused, name)
	}
	if len(want)+len(refused) > 0 {
		t.Errorf("not found: %v; not refused: %v", want, refused)
	}
}

// realDir makes a directory and returns its path without links.
func realDir(t *testing.T) string {
	t.Helper()
	dir := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	return dir
}

func mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Mkdir(path, mode))
}
