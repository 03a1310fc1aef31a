package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// wantPreview checks the preview of a call that would succeed, and that it changes nothing.
func (p plugin) wantPreview(t *testing.T, name string, arguments args, want string) {
	t.Helper()
	r, err := p.Preview(t.Context(), p.NewCall(t, name, arguments))
	if err != nil || r.IsError || r.Text() != want {
		t.Errorf("the preview of %s %v = %q, %v; want %q", name, arguments, r.Text(), err, want)
	}
}

// fails checks that a call fails, and its preview alike.
func (p plugin) fails(t *testing.T, name string, arguments args, want string) {
	t.Helper()
	p.WantFailure(t, name, arguments, want)
	if r, err := p.Preview(t.Context(), p.NewCall(t, name, arguments)); err != nil || !r.IsError || !strings.Contains(r.Text(), want) {
		t.Errorf("the preview of %s %v = %q, %v; want a failure with %q", name, arguments, r.Text(), err, want)
	}
}

func (p plugin) wantNone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(p.Root, name)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", name, err)
	}
}

func TestMkdir(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WantText(t, "fs.mkdir", args{"path": "a/b"}, "Made the directory a/b.")
	p.WantText(t, "fs.mkdir", args{"path": "./a/b/"}, "The directory a/b exists already.")
	p.WriteFile(t, "file", "")
	p.WantFailure(t, "fs.mkdir", args{"path": "file"}, "file is a regular file, not a directory")
	p.WantFailure(t, "fs.mkdir", args{"path": "file/x"}, "file/x")
	p.WantFailure(t, "fs.mkdir", args{"path": "."}, "the workspace itself")
}

func TestMove(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "a", "one")
	p.WriteFile(t, "dir/b", "two")
	p.Symlink(t, "a", "link")
	p.wantPreview(t, "fs.move", args{"path": "a", "to": "new/deep/c"}, "Moves the file a (3 bytes) to new/deep/c.\n")
	p.wantNone(t, "new")
	p.WantText(t, "fs.move", args{"path": "a", "to": "new/deep/c"}, "Moved a (file) to new/deep/c.")
	p.WantFile(t, "new/deep/c", "one")
	p.wantNone(t, "a")
	p.WantText(t, "fs.move", args{"path": "dir/", "to": "new/dir"}, "Moved dir/ (dir) to new/dir.")
	p.WantFile(t, "new/dir/b", "two")
	p.wantPreview(t, "fs.move", args{"path": "link", "to": "other"}, "Moves the symbolic link link to a to other.\n")
	p.WantText(t, "fs.move", args{"path": "link", "to": "other"}, "Moved link (symlink) to other.")
	if to, err := os.Readlink(filepath.Join(p.Root, "other")); to != "a" {
		t.Errorf("the link leads to %s, %v", to, err)
	}
	p.WriteFile(t, "there", "stays")
	for _, c := range []struct{ path, to, want string }{
		{"new/deep/c", "there", "there exists, and is not replaced"},
		{"new/deep/c", "other", "other exists"},
		{"new", "new/dir/in", "is itself or in it"},
		{"new", "./new", "is itself or in it"},
		{"gone", "x", "not found: gone"},
		{".", "x", "the workspace itself"},
		{"new/deep/c", "there/x", "there/x"},
		{"there/", "x", "there/ is a regular file, not a directory"},
	} {
		p.fails(t, "fs.move", args{"path": c.path, "to": c.to}, c.want)
	}
	p.WantFile(t, "there", "stays")
	p.WantFile(t, "new/deep/c", "one")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "a", "one\n")
	p.WriteFile(t, "dir/b", "two")
	p.WriteFile(t, "fixed", "")
	require.NoError(t, os.Chmod(filepath.Join(p.Root, "fixed"), 0o444))
	p.Symlink(t, "dir", "link")
	for path, want := range map[string]string{
		"dir": "dir is not empty (delete what is in it first)", "fixed": "read-only", "gone": "not found: gone",
		".": "the workspace itself", "a/": "a/ is a regular file, not a directory", "link/": "not a directory",
	} {
		p.fails(t, "fs.delete", args{"path": path}, want)
	}
	p.wantPreview(t, "fs.delete", args{"path": "a"}, "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")
	p.wantPreview(t, "fs.delete", args{"path": "link"}, "Deletes the symbolic link link to dir.\n")
	p.WantText(t, "fs.delete", args{"path": "a"}, "Deleted the file a (4 bytes).")
	p.WantText(t, "fs.delete", args{"path": "link"}, "Deleted the symbolic link link.")
	p.WantText(t, "fs.delete", args{"path": "dir/b"}, "Deleted the file dir/b (3 bytes).")
	p.wantPreview(t, "fs.delete", args{"path": "dir"}, "Deletes the directory dir.\n")
	p.WantText(t, "fs.delete", args{"path": "dir"}, "Deleted the directory dir.")
	for _, name := range []string{"a", "link", "dir"} {
		p.wantNone(t, name)
	}
}

// What git runs or is told by is left to git, by whatever name it is reached.
func TestGitIsProtected(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, ".git/config", "as it was")
	p.WriteFile(t, "sub/.git/hooks/x", "as it was")
	p.WriteFile(t, "mine", "mine")
	p.Symlink(t, ".git", "shortcut")
	for _, path := range []string{
		".git/config", ".git/hooks/pre-commit", "sub/.git/hooks/x", "new/.git/config", ".GIT/config", "shortcut/config", "shortcut/new/deep", ".git",
	} {
		for name, arguments := range map[string]args{
			"fs.write": {"content": "x"}, "fs.edit": {"original": "as", "modified": "x"},
			"fs.delete": {}, "fs.mkdir": {}, "fs.move": {"to": "new"},
		} {
			arguments["path"] = path
			if r, err := p.Call(t, name, arguments); tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "belongs to git") {
				t.Errorf("%s %s: %v, %v", name, path, r.Text(), err)
			}
		}
		if r, err := p.Call(t, "fs.move", args{"path": "mine", "to": path}); tool.CodeOf(err) != tool.CodePermissionDenied {
			t.Errorf("to %s: %v, %v", path, r.Text(), err)
		}
	}
	p.WantFile(t, ".git/config", "as it was")
	p.WantFile(t, "mine", "mine")
	p.WantText(t, "fs.read", args{"path": ".git/config"}, "as it was")
	p.WantText(t, "fs.write", args{"path": ".gitignore", "content": "*.o"}, "Wrote 3 bytes to .gitignore, a new file.")

	current := &workspace.Current{}
	require.NoError(t, current.Configure(t.Context(), pluginsdk.Config{Root: p.Root, JSON: []byte(`{"allow_git": true}`)}))
	allowed := plugin{p.Tools}
	allowed.Set, _ = tool.NewSet(tools(current)...)
	allowed.WantText(t, "fs.write", args{"path": ".git/config", "content": "new"}, "Wrote 3 bytes to .git/config.")
}
