package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

var deep = WalkOptions{Recursive: true}

func paths(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

// tree is a workspace whose order is not that of a walk.
func tree(t *testing.T) (*Workspace, string) {
	t.Helper()
	ws, root, _ := space(t)
	for _, name := range []string{"a/b", "a/c/d", "a-b", "a.txt", "b", ".git/config", "sub/.git/config", "sub/x.txt", "z/.git"} {
		workspacetest.WriteFile(t, filepath.Join(root, name), name)
	}
	return ws, root
}

func wantPaths(t *testing.T, entries []Entry, want ...string) {
	t.Helper()
	assert.EqualSlicesf(t, paths(entries), want, "paths")
}

// list returns the first entries that a walk visits, all if limit is 0.
func list(ctx context.Context, ws *Workspace, dir string, o WalkOptions, limit int) (out []Entry, err error) {
	_, err = ws.Walk(ctx, dir, o, func(e Entry) error {
		if out = append(out, e); len(out) == limit {
			return ErrEnough
		}
		return nil
	})
	return out, err
}

func mustList(t *testing.T, ws *Workspace, dir string, o WalkOptions) []Entry {
	t.Helper()
	out := require.Must(list(t.Context(), ws, dir, o, 0))(t)
	return out
}

func TestList(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	wantPaths(t, mustList(t, ws, ".", WalkOptions{}), ".git", "a", "a-b", "a.txt", "b", "sub", "z")
	wantPaths(t, mustList(t, ws, "a", WalkOptions{}), "a/b", "a/c")
	wantPaths(t, mustList(t, ws, "./a/c/", WalkOptions{}), "a/c/d")
	wantPaths(t, mustList(t, ws, ".git", deep), ".git/config")
}

func TestListRecursiveIsSortedAndSkipsGit(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	whole := []string{".git", "a", "a-b", "a.txt", "a/b", "a/c", "a/c/d", "b", "sub", "sub/.git", "sub/x.txt", "z", "z/.git"}
	if !slices.IsSorted(whole) {
		t.Fatal("the test is wrong")
	}
	wantPaths(t, mustList(t, ws, ".", deep), whole...)
	for limit := 1; limit <= len(whole); limit++ {
		entries, err := list(t.Context(), ws, ".", deep, limit)
		if wantPaths(t, entries, whole[:limit]...); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestListDescribes(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "file"), "12345")
	workspacetest.WriteFile(t, filepath.Join(root, "dir", "inner"), "")
	workspacetest.Symlink(t, "dir", filepath.Join(root, "link"))
	workspacetest.Symlink(t, "../outside", filepath.Join(root, "out"))
	when := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(root, "file"), when, when))
	l := mustList(t, ws, ".", deep)
	wantPaths(t, l, "dir", "dir/inner", "file", "link", "out")
	kinds := []Kind{Dir, File, File, Symlink, Symlink}
	for i, e := range l {
		if e.Kind != kinds[i] || e.Name != filepath.Base(e.Path) || (e.Kind != File && e.Size != 0) {
			t.Errorf("entry = %+v", e)
		}
	}
	if e := l[2]; e.Size != 5 || !e.Modified.Equal(when) {
		t.Errorf("file = %+v", e)
	}
	wantPaths(t, mustList(t, ws, "link", WalkOptions{}), "link/inner")
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	_, err := list(t.Context(), ws, "a.txt", WalkOptions{}, 0)
	wantError(t, err, "a.txt is a regular file, not a directory (give the path of a directory)")
	_, err = list(t.Context(), ws, "sbu", WalkOptions{}, 0)
	wantError(t, err, "not found: sbu (nearest names in the workspace root: sub")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := list(ctx, ws, ".", deep, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestListGoesOnWithoutADirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open       func(ws *Workspace) (*os.Root, error)
		unreadable []string
	}{
		"denied":    {func(*Workspace) (*os.Root, error) { return nil, fs.ErrPermission }, []string{"a"}},
		"vanished":  {func(*Workspace) (*os.Root, error) { return nil, fs.ErrNotExist }, nil},
		"exchanged": {func(ws *Workspace) (*os.Root, error) { return ws.openDir("sub") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, _ := tree(t)
			var shown []Entry
			l := walker{options: deep, openDir: func(dir string) (*os.Root, error) {
				if dir == "a" {
					return c.open(ws)
				}
				return ws.openDir(dir)
			}, visit: func(e Entry) error {
				shown = append(shown, e)
				return nil
			}}
			root := require.Must(ws.openDir("."))(t)
			require.NoError(t, l.walk(t.Context(), ".", root, nil))
			wantPaths(t, shown, ".git", "a", "a-b", "a.txt", "b", "sub", "sub/.git", "sub/x.txt", "z", "z/.git")
			assert.EqualSlicesf(t, l.unreadable, c.unreadable, "unreadable")
		})
	}
}

func TestClampTime(t *testing.T) {
	t.Parallel()
	for _, when := range []time.Time{time.Unix(1<<55, 0), time.Unix(-1<<55, 0), {}, time.Unix(0, 0)} {
		if _, err := clampTime(when).MarshalJSON(); err != nil {
			t.Error(err)
		}
	}
}
