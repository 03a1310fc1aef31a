package tree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/tree"
)

// made is a new directory with some files in it, and how it was when it was made.
func made(t *testing.T, above string, files ...string) (string, fs.FileInfo) {
	t.Helper()
	dir := filepath.Join(above, "made")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)))
	}
	info := require.Must(os.Lstat(dir))(t)
	return dir, info
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestRemove(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600))
	names := []string{"a/b/c", "d/e"}
	for i := range 1000 { // more than are read at a time
		names = append(names, "many/"+strconv.Itoa(i))
	}
	dir, info := made(t, t.TempDir(), names...)
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "a", "b", "link"))); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is gone is not an error
		if err := tree.Remove(t.Context(), dir, info); err != nil || isThere(dir) {
			t.Errorf("it is there: %v, %v", isThere(dir), err)
		}
	}
	if !isThere(filepath.Join(outside, "kept")) {
		t.Error("a link was followed")
	}
}

// What has the directory's path by now was never toolhost's.
func TestRemoveOfAnother(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir, info := made(t, above)
	require.NoError(t, os.Rename(dir, filepath.Join(above, "moved")))
	other, _ := made(t, above, "kept")
	if err := tree.Remove(t.Context(), dir, info); err == nil || !isThere(filepath.Join(other, "kept")) {
		t.Errorf("another directory was removed: %v", err)
	}
	require.NoError(t, errors.Join(os.Rename(dir, filepath.Join(above, "other")), os.Symlink("other", dir)))
	if err := tree.Remove(t.Context(), dir, info); err == nil || !isThere(filepath.Join(above, "other", "kept")) {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestRemoveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir, info := made(t, t.TempDir(), "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := tree.Remove(ctx, dir, info); !errors.Is(err, why) || !isThere(filepath.Join(dir, "a")) {
		t.Errorf("it goes on after its end: %v", err)
	}
	deep := strings.Repeat("d/", 200)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, deep), 0o700))
	assert.ErrorContainsf(t, tree.Remove(t.Context(), dir, info), "one in the other", "200 levels")
}
