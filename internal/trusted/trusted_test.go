package trusted_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func write(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("content"), mode))
	require.NoError(t, os.Chmod(path, mode))
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, 0o644)
	if got, err := trusted.Read(path, 7); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := trusted.Read(path, 6); tool.CodeOf(err) != tool.CodeResourceExhausted {
		t.Errorf("one byte too many: %v", err)
	}
	if _, err := trusted.Read(filepath.Join(dir, "none"), 7); tool.CodeOf(err) != tool.CodeNotFound || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := trusted.Read(dir, 7); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("a directory: %v", err)
	}
}

// refused checks that a file is not used, and that the reason names what is wrong.
func refused(t *testing.T, path string, code tool.Code, reason string) {
	t.Helper()
	if _, err := trusted.Read(path, 100); tool.CodeOf(err) != code || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want %s with %q", filepath.Base(path), err, code, reason)
	}
}

func mkdir(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Chmod(path, mode))
}

func TestReadWhatOthersMayWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, 0o646)
	refused(t, path, tool.CodePermissionDenied, "chmod go-w "+path)

	open := filepath.Join(dir, "open")
	mkdir(t, open, 0o777)
	write(t, filepath.Join(open, "file"), 0o644)
	refused(t, filepath.Join(open, "file"), tool.CodePermissionDenied, "chmod go-w "+open)
	mkdir(t, filepath.Join(open, "inner"), 0o755)
	write(t, filepath.Join(open, "inner", "file"), 0o644)
	refused(t, filepath.Join(open, "inner", "file"), tool.CodePermissionDenied, "chmod go-w "+open)

	// A link is as safe as both ends of it.
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(open, "file"), link))
	refused(t, link, tool.CodePermissionDenied, "chmod go-w "+open)
	safe := filepath.Join(dir, "safe")
	write(t, safe, 0o644)
	for at, ok := range map[string]bool{filepath.Join(dir, "fine"): true, filepath.Join(open, "link"): false} {
		require.NoError(t, os.Symlink(safe, at))
		if _, err := trusted.Read(at, 100); (err == nil) != ok {
			t.Errorf("a link at %s: %v", at, err)
		}
	}
}

func TestReadInSticky(t *testing.T) {
	t.Parallel()
	sticky := filepath.Join(t.TempDir(), "sticky")
	mkdir(t, sticky, 0o777|fs.ModeSticky)
	path := filepath.Join(sticky, "file")
	write(t, path, 0o644)
	if _, err := trusted.Read(path, 100); err != nil {
		t.Errorf("one's own file: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a file to another user
	}
	require.NoError(t, os.Chown(path, 12345, 12345))
	if _, err := trusted.Read(path, 100); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("another user's file: %v", err)
	}
}

func TestReadSpecial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	refused(t, fifo, tool.CodeUnavailable, "a FIFO")
	refused(t, "/dev/null", tool.CodeUnavailable, "a device")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(fifo, link))
	refused(t, link, tool.CodeUnavailable, "a FIFO")
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	refused(t, loop, tool.CodeUnavailable, "too many")
}

// A link that leads nowhere is refused: what reads a file that decides something goes on
// without it only if there is none.
func TestReadDanglingLink(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(link+"-target", link))
	refused(t, link, tool.CodeUnavailable, "a file that is not there")
	if _, err := trusted.Read(link, 100); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it counts as a missing file: %v", err)
	}
}
