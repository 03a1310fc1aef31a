package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func TestOpenFollowsLinksInside(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "dir", "file"), "inside")
	workspacetest.Symlink(t, "dir/file", filepath.Join(root, "to-file"))
	workspacetest.Symlink(t, "dir", filepath.Join(root, "to-dir"))
	workspacetest.Symlink(t, "../to-file", filepath.Join(root, "dir", "up"))
	for _, name := range []string{"dir/file", "./dir//file", "to-file", "to-dir/file", "dir/up", "to-dir/up", "gone/../dir/file"} {
		if got, err := read(ws, name); got != "inside" || err != nil {
			t.Errorf("%s = %q, %v", name, got, err)
		}
	}
}

func TestNothingLeadsOutside(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "dir", "file"), "inside")
	workspacetest.Symlink(t, filepath.Join(outside, "secret"), filepath.Join(root, "absolute"))
	workspacetest.Symlink(t, "../outside/secret", filepath.Join(root, "relative"))
	workspacetest.Symlink(t, "../outside", filepath.Join(root, "parent"))
	workspacetest.Symlink(t, "../../outside", filepath.Join(root, "dir", "deep"))
	workspacetest.Symlink(t, "dir/deep", filepath.Join(root, "twice"))
	workspacetest.Symlink(t, "../outside/missing", filepath.Join(root, "dangling"))
	workspacetest.Symlink(t, filepath.Join(root, "dir", "file"), filepath.Join(root, "absolute-inside"))
	workspacetest.Symlink(t, os.DevNull, filepath.Join(root, "null"))
	for _, given := range []string{
		"absolute", "relative", "parent/secret", "dir/deep/secret", "twice/secret", "dangling", "absolute-inside",
		"null", "../outside/secret", filepath.ToSlash(filepath.Join(outside, "secret")),
	} {
		_, err := ws.Open(given)
		wantEscape(t, err, given)
		_, err = ws.Write(t.Context(), given, strings.NewReader("changed"))
		wantEscape(t, err, given)
	}
	for _, given := range []string{"parent", "dir/deep", "twice", "..", "../outside", "parent/../../outside"} {
		_, err := list(t.Context(), ws, given, WalkOptions{}, 0)
		wantEscape(t, err, given)
	}
	for _, given := range []string{"parent/new", "dir/deep/new/file", "twice/new"} {
		_, err := ws.Write(t.Context(), given, strings.NewReader("new"))
		wantEscape(t, err, given)
	}
	wantUntouched(t, outside)
	assert.Equalf(t, content(t, filepath.Join(root, "dir", "file")), "inside", "dir/file")
}

// A link can be put in place after a path was looked at, so what opens it has to
// refuse it too.
func TestWhatWasSeenBeforeIsNotTrusted(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	workspacetest.Symlink(t, "../outside", filepath.Join(root, "dir"))
	workspacetest.Symlink(t, filepath.Join(outside, "secret"), filepath.Join(root, "file"))
	for _, given := range []string{"file", "dir/secret"} {
		_, err := ws.openFile(given, given)
		wantEscape(t, err, given)
	}
	if _, err := ws.openDir("dir"); !errors.Is(err, ws.errEscape) {
		t.Errorf("openDir of a link that leads outside: %v", err)
	}
}

// wantUntouched checks that the directory outside is as space made it.
func wantUntouched(t *testing.T, outside string) {
	t.Helper()
	entries := require.Must(os.ReadDir(outside))(t)
	if len(entries) != 1 || content(t, filepath.Join(outside, "secret")) != "outside" {
		t.Errorf("outside was touched: %v", entries)
	}
}

func TestOpenRefusesDirectories(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	mkdir(t, filepath.Join(root, "dir"))
	workspacetest.Symlink(t, "dir", filepath.Join(root, "link"))
	for _, name := range []string{".", "dir", "link"} {
		_, err := ws.Open(name)
		wantError(t, err, name+" is a directory, not a regular file (give the path of a file)")
	}
}

func TestNotFoundHelps(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	for _, name := range []string{"main.go", "main_test.go", "README.md", "zebra", "src/handler.go"} {
		workspacetest.WriteFile(t, filepath.Join(root, name), "")
	}
	mkdir(t, filepath.Join(root, "empty"))
	workspacetest.Symlink(t, "gone", filepath.Join(root, "dangling"))
	workspacetest.Symlink(t, "loop", filepath.Join(root, "loop"))
	for given, want := range map[string]string{
		"mian.go":         "not found: mian.go (nearest names in the workspace root: main.go)",
		"readme.md":       "(nearest names in the workspace root: README.md)",
		"src/Handlers.go": "not found: src/Handlers.go (nearest names in src: handler.go)",
		"scr/handler.go":  "not found: scr/handler.go (there is no scr; nearest names in the workspace root: src)",
		"src/a/b/c":       "(there is no src/a; nothing in src has a name like it)",
		"empty/x":         "not found: empty/x (empty is empty)",
		"dangling":        "not found: dangling (dangling is a symbolic link to gone, which does not exist)",
		"dangling/x":      "(dangling is a symbolic link to gone, which does not exist)",
		"main.go/x":       "main.go/x does not exist: a part of the path is a file",
		"loop":            "loop leads through too many symbolic links",
	} {
		_, err := ws.Open(given)
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), root) {
			t.Errorf("%s: the error names the machine's path: %v", given, err)
		}
		if strings.HasPrefix(want, "not found") && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: not os.ErrNotExist: %v", given, err)
		}
	}
}

func TestReaderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	r := Reader(ctx, readFunc(func(p []byte) (int, error) {
		if reads++; reads == 3 {
			cancel()
		}
		return len(p), nil
	}))
	n, err := io.Copy(io.Discard, io.LimitReader(r, 1<<40))
	if !errors.Is(err, context.Canceled) || reads != 3 || n > 3*chunk {
		t.Errorf("%d bytes in %d reads, %v", n, reads, err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
