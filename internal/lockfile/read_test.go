package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, open, huge := filepath.Join(dir, "fifo"), filepath.Join(dir, "open"), filepath.Join(dir, "huge")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for path, mode := range map[string]fs.FileMode{open: 0o666, huge: 0o644} {
		require.NoError(t, os.WriteFile(path, []byte(written), mode))
		require.NoError(t, os.Chmod(path, mode))
	}
	if err := os.Truncate(huge, 1<<40); err != nil { // a hole: it takes no space
		t.Fatal(err)
	}
	for path, want := range map[string]tool.Code{
		filepath.Join(dir, "none"): tool.CodeNotFound, dir: tool.CodeUnavailable, fifo: tool.CodeUnavailable,
		open: tool.CodePermissionDenied, huge: tool.CodeResourceExhausted,
	} {
		if l, err := Read(path); l != nil || tool.CodeOf(err) != want || errors.Is(err, fs.ErrNotExist) != (want == tool.CodeNotFound) {
			t.Errorf("%s: %v, %v, want %s", filepath.Base(path), l, err, want)
		}
	}
}

// A damaged lock is not on record as a fault of the host.
func TestCodeOfADamagedLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.lock")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := Read(path); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("the code of %v is %s", err, tool.CodeOf(err))
	}
}
