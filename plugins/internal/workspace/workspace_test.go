package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// space returns a workspace in a new directory, next to a directory "outside"
// with a file "secret".
func space(t *testing.T) (ws *Workspace, root, outside string) {
	t.Helper()
	top := t.TempDir()
	root, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	workspacetest.WriteFile(t, filepath.Join(outside, "secret"), "outside")
	mkdir(t, root)
	ws = require.Must(Open(root))(t)
	t.Cleanup(func() { _ = ws.Close() })
	return ws, root, outside
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
}

func content(t *testing.T, file string) string {
	t.Helper()
	b := require.Must(os.ReadFile(file))(t)
	return string(b)
}

func read(ws *Workspace, name string) (string, error) {
	f, err := ws.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	return string(b), err
}

// wantError checks that a text is part of an error's.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error = %v, want one with %q", err, text)
	}
}

// wantEscape checks that an error is a refusal that names the path as given.
func wantEscape(t *testing.T, err error, given string) {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		t.Errorf("%q: error = %v, want a *tool.Error", given, err)
		return
	}
	if e.Code != tool.CodePermissionDenied || e.Message != "path escapes the workspace: "+given || e.Hint == "" {
		t.Errorf("%q: error = %s %q, hint %q", given, e.Code, e.Message, e.Hint)
	}
}

func TestOpenRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	workspacetest.WriteFile(t, filepath.Join(dir, "file"), "")
	_, err := Open(filepath.Join(dir, "file"))
	wantError(t, err, "is a regular file, not a directory")
	if _, err := Open(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

func TestClosedWorkspaceFails(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	workspacetest.WriteFile(t, filepath.Join(root, "a"), "x")
	require.NoError(t, ws.Close())
	if _, err := ws.Open("a"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
}

func TestCurrent(t *testing.T) {
	// Not parallel: it changes the working directory.
	var c Current
	here, chosen := t.TempDir(), t.TempDir()
	workspacetest.WriteFile(t, filepath.Join(here, "a"), "working directory")
	workspacetest.WriteFile(t, filepath.Join(chosen, "a"), "chosen")
	t.Chdir(here)
	check := func(want string) {
		t.Helper()
		ws := require.Must(c.Get())(t)
		if got, err := read(ws, "a"); got != want || err != nil {
			t.Errorf("a = %q, %v; want %q", got, err, want)
		}
	}
	check("working directory")
	require.NoError(t, c.Set(chosen))
	check("chosen")
	if err := c.Set(filepath.Join(here, "missing")); err == nil {
		t.Error("Set took a directory that is not there")
	}
	check("chosen")
	require.NoError(t, c.Set(""))
	check("working directory")
}
