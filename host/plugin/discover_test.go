//go:build unix

package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("fs", 0o755)
	write("toolhost-plugin-git", 0o700)
	write("win.exe", 0o755)
	write("notes.txt", 0o644)
	write(".hidden", 0o755)
	write("fs.bak", 0o755)
	write("fs~", 0o755)
	write("FS", 0o755)
	write("open", 0o757)
	write("bad name", 0o755)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fs", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil { // opening it would block
		t.Fatal(err)
	}

	found, skipped, err := plugin.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range found {
		names = append(names, c.Name)
		if !filepath.IsAbs(c.Path) {
			t.Errorf("path %q is not absolute", c.Path)
		}
	}
	if got := strings.Join(names, " "); got != "FS git win" { // entries come sorted, so FS is the first of its name
		t.Errorf("found %q", got)
	}
	want := map[string]string{
		"notes.txt": "not executable", ".hidden": "hidden", "fs.bak": "leftover", "fs~": "leftover", "fs": "taken by FS",
		"open": "others may write", "bad name": "not a plugin name", "folder": "directory", "link": "symbolic link",
		"dangling": "symbolic link", "fifo": "not a regular file",
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
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, text string
		code            tool.Code
	}{
		{"missing", filepath.Join(open, "none"), "there is no plugin directory", tool.CodeNotFound},
		{"file", file, "not a directory", tool.CodeNotFound},
		{"writable", open, "others may write to " + open, tool.CodePermissionDenied},
		{"below a writable one", below, "others may write to " + open, tool.CodePermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := plugin.Discover(c.dir)
			if tool.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %s with %q", err, c.code, c.text)
			}
		})
	}
}

func TestDiscoverStickyParent(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		t.Fatal(err)
	}
	dir := filepath.Join(shared, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := plugin.Discover(dir); err != nil {
		t.Errorf("a sticky parent is refused: %v", err)
	}
}
