package workspace

import (
	"context"
	"errors"
	"io"
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

// wantNoTemp checks that no unfinished file is left anywhere.
func wantNoTemp(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(name), tempPrefix) {
			t.Errorf("%s was left behind", filepath.Base(name))
		}
		return err
	})
	assert.NoError(t, err)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	for _, step := range []struct {
		given, content string
		want           Written
	}{
		{"file", "one", Written{"file", 3, true}},
		{"./file", "three", Written{"file", 5, false}},
		{"a/b/../c/file", "", Written{"a/c/file", 0, true}},
		{strings.Repeat("n", 255), "long name", Written{strings.Repeat("n", 255), 9, true}},
	} {
		got, err := ws.Write(t.Context(), step.given, strings.NewReader(step.content))
		if got != step.want || err != nil {
			t.Errorf("Write(%q) = %v, %v", step.given, got, err)
		}
		assert.Equalf(t, content(t, filepath.Join(root, step.want.Path)), step.content, "%s", step.given)
	}
	wantNoTemp(t, root)
}

func TestWriteThroughALinkedDirectory(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	mkdir(t, filepath.Join(root, "real"))
	workspacetest.Symlink(t, "real", filepath.Join(root, "link"))
	require.Must(ws.Write(t.Context(), "link/sub/file", strings.NewReader("x")))(t)
	assert.Equalf(t, content(t, filepath.Join(root, "real", "sub", "file")), "x", "real/sub/file")
}

func TestWriteRefusals(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "file"), "old")
	workspacetest.WriteFile(t, filepath.Join(root, "protected"), "old")
	require.NoError(t, os.Chmod(filepath.Join(root, "protected"), 0o444))
	mkdir(t, filepath.Join(root, "dir"))
	workspacetest.Symlink(t, "file", filepath.Join(root, "link"))
	workspacetest.Symlink(t, "gone", filepath.Join(root, "dangling"))
	for given, want := range map[string]string{
		".":          ". is a directory, not a regular file",
		"dir":        "dir is a directory, not a regular file",
		"new/":       "new/ is a directory, not a regular file",
		"new/.":      "new/. is a directory",
		"link":       "link is a symbolic link to file, and links are not written through (write to the file that it leads to)",
		"dangling":   "dangling is a symbolic link to gone",
		"dangling/x": "(dangling is a symbolic link to gone, which does not exist)",
		"file/x":     "file/x does not exist: a part of the path is a file",
		"protected":  "protected is read-only, mode 0444",
		"":           "the path is empty",
		"a\x00":      "NUL character",
	} {
		_, err := ws.Write(t.Context(), given, strings.NewReader("new"))
		wantError(t, err, want)
	}
	for _, name := range []string{"file", "protected", "link"} {
		assert.Equalf(t, content(t, filepath.Join(root, name)), "old", "%s", name)
	}
	for _, name := range []string{"new", "gone"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	wantNoTemp(t, root)
}

func TestFailedWriteChangesNothing(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("the source is broken")
	for name, source := range map[string]func(cancel func()) io.Reader{
		"source fails": func(func()) io.Reader {
			return io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)),
				readFunc(func([]byte) (int, error) { return 0, errBroken }))
		},
		"call is canceled": func(cancel func()) io.Reader {
			return readFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
		},
		"call is canceled at the end": func(cancel func()) io.Reader {
			return readFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF })
		},
		"source panics": func(func()) io.Reader {
			return readFunc(func([]byte) (int, error) { panic(errBroken) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, root, _ := space(t)
			workspacetest.WriteFile(t, filepath.Join(root, "file"), "old")
			for _, target := range []string{"file", "new"} {
				ctx, cancel := context.WithCancel(t.Context())
				err := writeCaught(ctx, ws, target, source(cancel))
				cancel()
				if !errors.Is(err, errBroken) && !errors.Is(err, context.Canceled) {
					t.Errorf("writing %s: %v", target, err)
				}
			}
			assert.Equalf(t, content(t, filepath.Join(root, "file")), "old", "file")
			if _, err := os.Lstat(filepath.Join(root, "new")); err == nil {
				t.Error("new was made")
			}
			wantNoTemp(t, root)
		})
	}
}

func writeCaught(ctx context.Context, ws *Workspace, name string, r io.Reader) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = v.(error)
		}
	}()
	_, err = ws.Write(ctx, name, r)
	return err
}

func TestWriteFailsWhereADirectoryAppears(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	_, err := ws.Write(t.Context(), "file", readFunc(func([]byte) (int, error) {
		mkdir(t, filepath.Join(root, "file"))
		return 0, io.EOF
	}))
	wantError(t, err, "file: ")
	wantNoTemp(t, root)
}

func TestLinkThatAppearsIsReplacedNotFollowed(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	workspacetest.Symlink(t, "x", filepath.Join(root, "probe"))
	_, err := ws.Write(t.Context(), "file", io.MultiReader(strings.NewReader("new"), readFunc(func([]byte) (int, error) {
		workspacetest.Symlink(t, "../outside/secret", filepath.Join(root, "file"))
		return 0, io.EOF
	})))
	require.NoError(t, err)
	wantUntouched(t, outside)
	assert.Equalf(t, content(t, filepath.Join(root, "file")), "new", "file")
}

func TestConcurrentWritersLeaveOneWholeVersion(t *testing.T) {
	t.Parallel()
	const size = 128 << 10
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "file"), strings.Repeat("0", size))
	var writers sync.WaitGroup
	for _, letter := range "abcdefgh" {
		writers.Go(func() {
			for range 4 {
				if _, err := ws.Write(t.Context(), "file", strings.NewReader(strings.Repeat(string(letter), size))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		got, err := read(ws, "file")
		if err != nil || len(got) != size || strings.Trim(got, got[:1]) != "" {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
	}
	writers.Wait()
	got := content(t, filepath.Join(root, "file"))
	if len(got) != size || got[0] == '0' || strings.Trim(got, got[:1]) != "" {
		t.Errorf("%d bytes, mixed or old", len(got))
	}
	wantNoTemp(t, root)
}
