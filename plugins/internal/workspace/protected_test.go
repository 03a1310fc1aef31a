package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// guarded is a workspace in which the host protects a file, a directory, and some that
// are not there.
func guarded(t *testing.T) (ws *Workspace, root string) {
	t.Helper()
	_, root, _ = space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "toolhost.yaml"), "as it was")
	workspacetest.WriteFile(t, filepath.Join(root, "bin", "plugins", "fs"), "as it was")
	workspacetest.WriteFile(t, filepath.Join(root, "src", "file"), "mine")
	workspacetest.Symlink(t, "bin/plugins", filepath.Join(root, "shortcut"))
	workspacetest.Symlink(t, "none/yet", filepath.Join(root, "dangling"))
	workspacetest.Symlink(t, "../toolhost.yaml", filepath.Join(root, "src", "soft"))
	require.NoError(t, os.Link(filepath.Join(root, "toolhost.yaml"), filepath.Join(root, "src", "hard")))
	protected, err := protect.Expand(filepath.Join(root, "toolhost.yaml"), filepath.Join(root, "toolhost.lock"),
		filepath.Join(root, "bin", "plugins"), filepath.Join(root, "none", "yet"))
	require.NoError(t, err)
	ws = require.Must(Open(root, protected...))(t)
	t.Cleanup(func() { _ = ws.Close() })
	return ws, root
}

func TestProtected(t *testing.T) {
	t.Parallel()
	ws, root := guarded(t)
	for _, given := range []string{
		"toolhost.yaml", "./toolhost.yaml", "src/../toolhost.yaml", "ToolHost.YAML", "toolhost.lock", "toolhost.lock.new",
		"bin/plugins/fs", "bin/plugins/new", "bin/plugins/deep/er/new", "shortcut/fs", "shortcut/new", "shortcut/deep/new",
		"none", "none/yet", "none/yet/new", "dangling/new", "src/hard", "src/soft",
	} {
		_, err := ws.Write(t.Context(), given, strings.NewReader("mine"))
		wantProtected(t, "Write", given, err)
		_, err = ws.Change(t.Context(), given, becomes("mine"))
		wantProtected(t, "Change", given, err)
		_, err = ws.Snapshot(t.Context(), given)
		wantProtected(t, "Now", given, err)
	}
	for _, name := range []string{"toolhost.yaml", "bin/plugins/fs"} {
		assert.Equalf(t, content(t, filepath.Join(root, name)), "as it was", "%s has", name)
		if got, err := read(ws, name); got != "as it was" || err != nil {
			t.Errorf("%s cannot be read: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"toolhost.lock", "none", "bin/plugins/new", "bin/plugins/deep"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	for _, given := range []string{"src/file", "src/toolhost.yaml", "bin/other", "toolhost.yml", "new/deep/file"} {
		if _, err := ws.Write(t.Context(), given, strings.NewReader("mine")); err != nil {
			t.Error(err)
		}
	}
	wantNoTemp(t, root)
}

func wantProtected(t *testing.T, what, given string, err error) {
	t.Helper()
	if tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "is protected") {
		t.Errorf("%s of %q: %v", what, given, err)
	}
}

// The directory that was checked is the one that is written to.
func TestProtectedByAnotherDirectory(t *testing.T) {
	t.Parallel()
	ws, root := guarded(t)
	dir := require.Must(ws.openDir("shortcut"))(t)
	defer func() { _ = dir.Close() }()
	require.NoError(t, errors.Join(os.Remove(filepath.Join(root, "shortcut")), os.Mkdir(filepath.Join(root, "shortcut"), 0o755)))
	assert.ErrorIsf(t, ws.checkWritable("shortcut/fs", "shortcut/fs", dir), ErrChanged, "another directory is open")
	assert.NoError(t, ws.checkWritable("shortcut/fs", "shortcut/fs", nil))
}
