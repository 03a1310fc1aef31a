package protect_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// place makes a directory with links resolved.
func place(t *testing.T) string {
	t.Helper()
	dir := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	return dir
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := place(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	for name, target := range map[string]string{
		"to-b": "a/b", "absolute": filepath.Join(dir, "a"), "up": "a/../to-b", "dangling": "a/none/below", "circle": "circle", "chain": "to-b/..",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for given, want := range map[string]string{
		"a/b": "a/b", "to-b": "a/b", "to-b/x": "a/b/x", "absolute/b/./y": "a/b/y", "up": "a/b", "none/at/all": "none/at/all",
		"dangling": "a/none/below", "dangling/x": "a/none/below/x", "chain/z": "a/z",
	} {
		got, links, err := protect.Resolve(filepath.Join(dir, given))
		if got != filepath.Join(dir, want) || err != nil {
			t.Errorf("%s leads to %s, %v; want %s", given, got, err, want)
		}
		if first, _ := os.Readlink(filepath.Join(dir, filepath.Dir(given), filepath.Base(given))); first != "" && len(links) == 0 {
			t.Errorf("%s: no link is told", given)
		}
	}
	if _, _, err := protect.Resolve(filepath.Join(dir, "circle")); err == nil {
		t.Error("a circle has an end")
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	dir := place(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "one")))
	require.NoError(t, os.Symlink("one", filepath.Join(dir, "two")))
	got, err := protect.Expand(filepath.Join(dir, "two", "file"), filepath.Join(dir, "real", "file"), filepath.Join(dir, "absent"))
	want := []string{filepath.Join(dir, "absent"), filepath.Join(dir, "one"), filepath.Join(dir, "real", "file"), filepath.Join(dir, "two")}
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for _, d := range []string{"bin/plugins/deep", "src", "elsewhere"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, f := range []string{"toolhost.yaml", "bin/plugins/fs", "src/file"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
	require.NoError(t, os.Link(filepath.Join(dir, "toolhost.yaml"), filepath.Join(dir, "src", "hard")))
	require.NoError(t, os.Symlink("../toolhost.yaml", filepath.Join(dir, "src", "soft")))
	require.NoError(t, os.Symlink("bin/plugins", filepath.Join(dir, "shortcut")))
	require.NoError(t, os.Symlink("none/yet", filepath.Join(dir, "dangling")))
	protected, err := protect.Expand(filepath.Join(dir, "toolhost.yaml"), filepath.Join(dir, "bin", "plugins"),
		filepath.Join(dir, "toolhost.lock"), filepath.Join(dir, "none", "yet"), filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"toolhost.yaml": true, "src/../toolhost.yaml": true, "TOOLHOST.yaml": true, "toolhost.lock": true, "toolhost.lock.new": true,
		"bin/plugins": true, "bin/plugins/fs": true, "bin/plugins/new/one": true, "bin": true, "none": true, "none/yet/x": true,
		"shortcut/fs": true, "shortcut": true, "dangling": true, "dangling/x": true, "src/hard": true, "src/soft": true,
		"audit.jsonl.000001": true, "": true,
		"src": false, "src/file": false, "src/toolhost.yaml": false, "toolhost.yml": false, "toolhost": false, "bin/other": false, "binary": false,
		"none/other": false, "elsewhere/bin/plugins": false, "bin/plugins2": false,
	} {
		got, err := protect.Covers(protected, filepath.Join(dir, filepath.FromSlash(path)))
		if got != want || err != nil {
			t.Errorf("%q is covered: %t, %v", path, got, err)
		}
	}
	if covered, err := protect.Covers(nil, dir); covered || err != nil {
		t.Errorf("where nothing is protected: %t, %v", covered, err)
	}
	assert.Equalf(t, tool.CodeOf(protect.Refusal("x")), tool.CodePermissionDenied, "the code")
}
