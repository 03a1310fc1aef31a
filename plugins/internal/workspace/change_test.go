package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

// becomes is a change to a fixed content.
func becomes(content string) func([]byte, bool) ([]byte, error) {
	return func([]byte, bool) ([]byte, error) { return []byte(content), nil }
}

func TestChange(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	double := func(old []byte, exists bool) ([]byte, error) {
		return fmt.Appendf(nil, "%s%s%t", old, old, exists), nil
	}
	for _, want := range []Written{{"a/file", 5, true}, {"a/file", 14, false}} {
		if got, err := ws.Change(t.Context(), "./a//file", double); got != want || err != nil {
			t.Errorf("Change = %+v, %v; want %+v", got, err, want)
		}
	}
	assert.Equalf(t, content(t, filepath.Join(root, "a", "file")), "falsefalsetrue", "file")
	wantNoTemp(t, root)
}

func TestChangeRefusals(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "file"), "old")
	workspacetest.WriteFile(t, filepath.Join(root, "large"), "")
	require.NoError(t, os.Truncate(filepath.Join(root, "large"), MaxChange+1))
	workspacetest.Symlink(t, "file", filepath.Join(root, "link"))
	workspacetest.Symlink(t, "gone", filepath.Join(root, "dangling"))
	for given, want := range map[string]string{
		".": ". is a directory", "new/": "new/ is a directory", "link": "link is a symbolic link to file", "file/x": "file/x does not exist",
		"dangling/x": "dangling is a symbolic link to gone, which does not exist", "large": "large has 33554433 bytes, and at most 33554432 can be changed",
	} {
		_, err := ws.Change(t.Context(), given, becomes("new"))
		wantError(t, err, want)
		if given != "large" {
			_, err = ws.Snapshot(t.Context(), given)
			wantError(t, err, want)
		}
	}
	_, err := ws.Change(t.Context(), "../outside/secret", becomes("new"))
	wantEscape(t, err, "../outside/secret")
	refused := errors.New("refused")
	if _, err := ws.Change(t.Context(), "dir/new", func([]byte, bool) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "dir")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a refused change made a directory")
	}
	assert.Equalf(t, content(t, filepath.Join(root, "file")), "old", "file")
	wantNoTemp(t, root)
}

// What others do between the look and the write is not lost, whatever it is.
func TestChangeSeesWhatOthersDo(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]struct {
		exists bool
		do     func(file string) error
		want   string
	}{
		"write in place": {true, func(f string) error { return os.WriteFile(f, []byte("own"), 0o644) }, "own, changed"},
		"replace": {true, func(f string) error {
			return errors.Join(os.WriteFile(f+"~", []byte("own"), 0o644), os.Rename(f+"~", f))
		}, "own, changed"},
		"append":         {true, func(f string) error { return os.WriteFile(f, []byte("old and more"), 0o644) }, "old and more, changed"},
		"remove":         {true, os.Remove, ", changed"},
		"create":         {false, func(f string) error { return os.WriteFile(f, []byte("own"), 0o644) }, "own, changed"},
		"make read-only": {true, func(f string) error { return os.Chmod(f, 0o444) }, ""},
		"link":           {false, func(f string) error { return os.Symlink("elsewhere", f) }, ""},
		"directory":      {false, func(f string) error { return os.Mkdir(f, 0o755) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, root, _ := space(t)
			file := filepath.Join(root, "file")
			if others.exists {
				workspacetest.WriteFile(t, file, "old")
			}
			calls := 0
			_, err := ws.Change(t.Context(), "file", func(old []byte, _ bool) ([]byte, error) {
				if calls++; calls == 1 {
					require.NoError(t, others.do(file))
				}
				return append(old, ", changed"...), nil
			})
			wantNoTemp(t, root)
			if others.want == "" {
				if err == nil {
					t.Error("it was changed")
				}
				return
			}
			if got := content(t, file); got != others.want || err != nil || calls != 2 {
				t.Errorf("file = %q, %v after %d calls", got, err, calls)
			}
		})
	}
}

// The last look comes after everything else, so these leave that out.
func TestTheLastLook(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	dir := require.Must(ws.openDir("."))(t)
	defer func() { _ = dir.Close() }()
	workspacetest.WriteFile(t, filepath.Join(root, "temp"), "new")
	workspacetest.WriteFile(t, filepath.Join(root, "file"), "own")
	mode := fs.FileMode(0o644)
	for name, put := range map[string]func() error{
		"a new file": func() error { return (&replacement{dir: dir, name: "file", created: true}).commitNew("temp") },
		"it appeared": func() error {
			return (&replacement{dir: dir, name: "file", mode: mode}).commitIfUnchanged(t.Context(), "temp", Snapshot{})
		},
		"other content": func() error { return still(t, dir, mode, "old") },
		"other size":    func() error { return still(t, dir, mode, "longer") },
		"other mode":    func() error { return still(t, dir, 0o600, "own") },
		"it disappeared": func() error {
			return (&replacement{dir: dir, name: "gone", mode: mode}).commitIfUnchanged(t.Context(), "temp", Snapshot{Exists: true})
		},
	} {
		if err := put(); !errors.Is(err, ErrChanged) || content(t, filepath.Join(root, "file")) != "own" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := still(t, dir, mode, "own"); err != nil || content(t, filepath.Join(root, "file")) != "new" {
		t.Errorf("as it was: %v", err)
	}
}

func still(t *testing.T, dir *os.Root, mode fs.FileMode, was string) error {
	t.Helper()
	return (&replacement{dir: dir, name: "file", mode: mode}).commitIfUnchanged(t.Context(), "temp", Snapshot{Exists: true, Size: int64(len(was)), Content: []byte(was)})
}

func TestChangeGivesUp(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	file := filepath.Join(root, "file")
	workspacetest.WriteFile(t, file, "")
	calls := 0
	_, err := ws.Change(t.Context(), "file", func([]byte, bool) ([]byte, error) {
		calls++
		workspacetest.WriteFile(t, file, strings.Repeat("x", calls))
		return []byte("new"), nil
	})
	wantError(t, err, "file keeps being changed by others; nothing was written")
	if got := content(t, file); !errors.Is(err, ErrChanged) || got != "xxx" {
		t.Errorf("file = %q, %v", got, err)
	}
	wantNoTemp(t, root)
}

func TestChangesComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	var changers sync.WaitGroup
	for range 20 {
		changers.Go(func() {
			if _, err := ws.Change(t.Context(), "file", func(old []byte, _ bool) ([]byte, error) { return append(old, 'x'), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	changers.Wait()
	assert.Equalf(t, content(t, filepath.Join(root, "file")), strings.Repeat("x", 20), "file")
	ws.changing <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ws.Change(ctx, "file", becomes("")); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while it waits: %v", err)
	}
}

func TestNow(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "dir", "file"), "text")
	for given, want := range map[string]string{
		"./dir/file": "dir/file true 4 text", "dir/new": "dir/new false 0 ", "a/b/c": "a/b/c false 0 ",
	} {
		n, err := ws.Snapshot(t.Context(), given)
		if got := fmt.Sprintf("%s %t %d %s", n.Path, n.Exists, n.Size, n.Content); got != want || err != nil || n.Content == nil {
			t.Errorf("%s = %q, %v", given, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "a")); err == nil {
		t.Error("a look made a directory")
	}
}
