package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

var deep = WalkOptions{Recursive: true}

func paths(l Listing) []string {
	var out []string
	for _, e := range l.Entries {
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

func wantPaths(t *testing.T, l Listing, want ...string) {
	t.Helper()
	if got := paths(l); !slices.Equal(got, want) {
		t.Errorf("paths = %q, want %q", got, want)
	}
}

func list(t *testing.T, ws *Workspace, dir string, o ListOptions) Listing {
	t.Helper()
	l, err := ws.List(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestList(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	wantPaths(t, list(t, ws, ".", ListOptions{}), ".git", "a", "a-b", "a.txt", "b", "sub", "z")
	wantPaths(t, list(t, ws, "a", ListOptions{}), "a/b", "a/c")
	wantPaths(t, list(t, ws, "./a/c/", ListOptions{}), "a/c/d")
	wantPaths(t, list(t, ws, ".git", ListOptions{WalkOptions: deep}), ".git/config")
}

func TestListRecursiveIsSortedAndSkipsGit(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	whole := []string{".git", "a", "a-b", "a.txt", "a/b", "a/c", "a/c/d", "b", "sub", "sub/.git", "sub/x.txt", "z", "z/.git"}
	if !slices.IsSorted(whole) {
		t.Fatal("the test is wrong")
	}
	l := list(t, ws, ".", ListOptions{WalkOptions: deep})
	wantPaths(t, l, whole...)
	if l.Truncated {
		t.Error("truncated")
	}
	for limit := 1; limit <= len(whole); limit++ {
		l := list(t, ws, ".", ListOptions{WalkOptions: deep, Limit: limit})
		wantPaths(t, l, whole[:limit]...)
		if l.Truncated != (limit < len(whole)) {
			t.Errorf("limit %d: truncated = %t", limit, l.Truncated)
		}
	}
}

func TestListMatch(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	l := list(t, ws, ".", ListOptions{WalkOptions: deep, Limit: 2, Match: func(e Entry) bool { return strings.HasSuffix(e.Name, ".txt") }})
	wantPaths(t, l, "a.txt", "sub/x.txt")
	if l.Truncated {
		t.Error("truncated, with nothing left out")
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
	if err := os.Chtimes(filepath.Join(root, "file"), when, when); err != nil {
		t.Fatal(err)
	}
	l := list(t, ws, ".", ListOptions{WalkOptions: deep})
	wantPaths(t, l, "dir", "dir/inner", "file", "link", "out")
	kinds := []Kind{Dir, File, File, Symlink, Symlink}
	for i, e := range l.Entries {
		if e.Kind != kinds[i] || e.Name != filepath.Base(e.Path) || (e.Kind != File && e.Size != 0) {
			t.Errorf("entry = %+v", e)
		}
	}
	if e := l.Entries[2]; e.Size != 5 || !e.Modified.Equal(when) {
		t.Errorf("file = %+v", e)
	}
	wantPaths(t, list(t, ws, "link", ListOptions{}), "link/inner")
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	_, err := ws.List(t.Context(), "a.txt", ListOptions{})
	wantError(t, err, "a.txt is a regular file, not a directory (give the path of a directory)")
	_, err = ws.List(t.Context(), "sbu", ListOptions{})
	wantError(t, err, "not found: sbu (nearest names in the workspace root: sub")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ws.List(ctx, ".", ListOptions{WalkOptions: deep}); !errors.Is(err, context.Canceled) {
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
			var shown Listing
			l := walker{options: deep, openDir: func(dir string) (*os.Root, error) {
				if dir == "a" {
					return c.open(ws)
				}
				return ws.openDir(dir)
			}, visit: func(e Entry) error {
				shown.Entries = append(shown.Entries, e)
				return nil
			}}
			root, err := ws.openDir(".")
			if err != nil {
				t.Fatal(err)
			}
			if err := l.walk(t.Context(), ".", root, nil); err != nil {
				t.Fatal(err)
			}
			wantPaths(t, shown, ".git", "a", "a-b", "a.txt", "b", "sub", "sub/.git", "sub/x.txt", "z", "z/.git")
			if !slices.Equal(l.unreadable, c.unreadable) {
				t.Errorf("unreadable = %q", l.unreadable)
			}
		})
	}
}

func TestPresentable(t *testing.T) {
	t.Parallel()
	for _, when := range []time.Time{time.Unix(1<<55, 0), time.Unix(-1<<55, 0), {}, time.Unix(0, 0)} {
		if _, err := clampTime(when).MarshalJSON(); err != nil {
			t.Error(err)
		}
	}
}
