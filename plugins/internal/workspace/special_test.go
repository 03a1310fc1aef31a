package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, unix.Mkfifo(name, 0o644))
}

func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	mkfifo(t, filepath.Join(root, "pipe"))
	workspacetest.Symlink(t, "pipe", filepath.Join(root, "link"))
	l := require.Must(net.Listen("unix", filepath.Join(root, "socket")))(t)
	defer func() { _ = l.Close() }()
	workspacetest.Promptly(t, func() {
		for given, want := range map[string]string{
			"pipe":   "pipe is a named pipe, not a regular file",
			"link":   "link is a named pipe, not a regular file",
			"socket": "socket is a socket, not a regular file",
		} {
			_, err := ws.Open(given)
			wantError(t, err, want)
		}
		_, err := list(t.Context(), ws, "pipe", WalkOptions{}, 0)
		wantError(t, err, "pipe is a named pipe, not a directory")
		_, err = ws.Open("pipe/x")
		wantError(t, err, "pipe/x does not exist")
		for _, given := range []string{"pipe", "socket"} {
			_, err = ws.Write(t.Context(), given, strings.NewReader("x"))
			wantError(t, err, "(only regular files can be read or written)")
		}
		_, err = ws.Write(t.Context(), "pipe/x", strings.NewReader("x"))
		wantError(t, err, "pipe/x does not exist")
		_, err = Open(filepath.Join(root, "pipe"))
		wantError(t, err, "is a named pipe, not a directory")
	})
}

func TestDevicesAreRefused(t *testing.T) {
	t.Parallel()
	ws, err := Open("/dev")
	require.NoError(t, err)
	defer func() { _ = ws.Close() }()
	_, err = ws.Open("null")
	wantError(t, err, "null is a character device, not a regular file")
	_, err = ws.Write(t.Context(), "null", strings.NewReader("x"))
	wantError(t, err, "null is a character device")
}

// What is opened is trusted no more than what was seen before, so these two
// leave out the look before.
func TestOpeningAPipeDoesNotWait(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	mkfifo(t, filepath.Join(root, "pipe"))
	workspacetest.Promptly(t, func() {
		_, err := ws.openFile("pipe", "pipe")
		wantError(t, err, "pipe is a named pipe, not a regular file")
		_, err = ws.openDir("pipe")
		wantError(t, err, "not a directory")
	})
}

func TestRulesInAPipeAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	mkfifo(t, filepath.Join(root, ".gitignore"))
	workspacetest.Promptly(t, func() {
		wantPaths(t, mustList(t, ws, ".", WalkOptions{Ignore: GitRules()}), ".gitignore")
	})
}

func TestPipeSwappedIn(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	file, spare := filepath.Join(root, "file"), filepath.Join(root, "spare")
	workspacetest.WriteFile(t, file, "inside")
	stop := race(t, func() error {
		return errors.Join(
			unix.Mkfifo(spare, 0o644), os.Rename(spare, file),
			os.WriteFile(spare, []byte("inside"), 0o644), os.Rename(spare, file))
	})
	defer stop()
	workspacetest.Promptly(t, func() {
		for range 500 {
			if got, err := read(ws, "file"); err != nil {
				wantError(t, err, "file is a named pipe")
			} else if got != "inside" {
				t.Errorf("read %q", got)
			}
		}
	})
}

func TestWriteKeepsModes(t *testing.T) { //nolint:paralleltest // the umask is the process's
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	ws, root, _ := space(t)
	for _, mode := range []os.FileMode{0o600, 0o755, 0o666, 0o640} {
		name := filepath.Join(root, "file")
		workspacetest.WriteFile(t, name, "old")
		require.NoError(t, os.Chmod(name, mode))
		require.Must(ws.Write(t.Context(), "file", strings.NewReader("new")))(t)
		wantMode(t, name, mode)
	}
	require.Must(ws.Write(t.Context(), "dir/new", strings.NewReader("new")))(t)
	wantMode(t, filepath.Join(root, "dir", "new"), 0o640)
	wantMode(t, filepath.Join(root, "dir"), 0o750)
}

func wantMode(t *testing.T, name string, want os.FileMode) {
	t.Helper()
	info := require.Must(os.Stat(name))(t)
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
	}
}

func TestWriteLeavesHardLinksAlone(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	require.NoError(t, os.Link(filepath.Join(outside, "secret"), filepath.Join(root, "file")))
	require.Must(ws.Write(t.Context(), "file", strings.NewReader("new")))(t)
	wantUntouched(t, outside)
}
