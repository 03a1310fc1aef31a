package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What another user may have written is not read.
func TestOthersMayWrite(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		c, s, path := filled(t)
		require.NoError(t, os.Chmod(path, mode))
		if _, ok := find(t, c, s); ok {
			t.Errorf("a file of mode %v is believed", mode)
		}
		require.Must(c.Store(t.Context(), s, about))(t)
		if _, ok := find(t, c, s); !ok {
			t.Error("it was not written again")
		}
		for _, dir := range []string{c.dir.Above, filepath.Dir(path)} {
			require.NoError(t, os.Chmod(dir, 0o720))
			if _, err := Open(c.dir.Above); !errors.Is(err, marked.ErrUnsafe) {
				t.Errorf("a directory of mode 0720 is used: %v", err)
			}
			if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
				t.Fatal(err)
			}
		}
	}
}

// owned is a file as the system would show it if another user owned it.
type owned struct {
	os.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// A file or directory of another user is not private, whatever its mode.
func TestForeignOwner(t *testing.T) {
	t.Parallel()
	c, _, path := filled(t)
	for _, p := range []string{c.dir.Above, path} {
		info := require.Must(os.Lstat(p))(t)
		if !safefile.Private(info, 0o022) || safefile.Private(owned{info, uint32(os.Geteuid()) + 1}, 0o022) { //nolint:gosec // a small number
			t.Errorf("%s: it does not count who owns it", p)
		}
	}
}

// Neither a link nor a FIFO is followed or waited for.
func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	c, s, path := filled(t)
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, errors.Join(os.Rename(path, moved), os.Symlink(moved, path)))
	if _, ok := find(t, c, s); ok {
		t.Error("a link is followed")
	}
	require.NoError(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)))
	if _, ok := find(t, c, s); ok {
		t.Error("a FIFO is read")
	}
	require.Must(c.Store(t.Context(), s, about))(t)
	if _, ok := find(t, c, s); !ok {
		t.Error("it was not written again")
	}
}
