package sealed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A sealed file cannot be written, cut or mapped for writing, not even by opening it again.
func TestSealedCannotBeChanged(t *testing.T) {
	t.Parallel()
	path, _ := program(t, t.TempDir())
	f := require.Must(Copy(t.Context(), path, Options{}))(t)
	defer func() { _ = f.Close() }()
	if _, err := f.Descriptor().WriteAt([]byte("x"), 0); err == nil {
		t.Error("the descriptor that is given out can be written")
	}
	again := require.Must(os.OpenFile(f.Path(), os.O_RDWR, 0))(t)
	defer func() { _ = again.Close() }()
	if _, err := again.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("writing: %v", err)
	}
	assert.ErrorIsf(t, again.Truncate(1), unix.EPERM, "cutting")
	assert.ErrorIsf(t, again.Truncate(f.Size+1), unix.EPERM, "growing")
	if _, err := unix.Mmap(int(again.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("mapping: %v", err)
	}
	if _, err := unix.FcntlInt(again.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("another seal: %v", err)
	}
	flags, err := unix.FcntlInt(f.Descriptor().Fd(), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("programs that are run inherit it: %x, %v", flags, err)
	}
}

func TestCopyOfScript(t *testing.T) {
	t.Parallel()
	dir, path := private0(t), filepath.Join(t.TempDir(), "script.sh")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho \"old from $0\"\n"), 0o700))
	f := require.Must(Copy(t.Context(), path, Options{Dir: dir}))(t)
	overwrite(t, path, "#!/bin/sh\necho new\n")
	if out := run(t, f.Path()); f.Sealed || out != "old from "+f.Path() || filepath.Dir(f.Path()) != dir || !strings.HasSuffix(f.Path(), "-script.sh") {
		t.Errorf("sealed %v, %q says %q", f.Sealed, f.Path(), out)
	}
	assert.Equalf(t, mustStat(t, f.Path()).Mode(), 0o500, "mode")
	assert.NoError(t, f.Close())
	empty(t, dir)
}

func TestCopyOfFIFO(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o700))
	if _, err := Copy(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "a FIFO") {
		t.Errorf("%v", err)
	}
	if _, err := Copy(t.Context(), "/dev/zero", Options{}); err == nil || !strings.Contains(err.Error(), "a device") {
		t.Errorf("%v", err)
	}
}

// A private copy is returned when it is no longer open for writing.
func TestAwaitWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	writer := require.Must(os.Create(path))(t)
	done := make(chan error, 1)
	go func() { done <- awaitWriters(t.Context(), path) }()
	reader := require.Must(os.Open(path))(t)
	defer func() { _ = reader.Close() }()
	select {
	case err := <-done:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(20 * pace):
	}
	require.NoError(t, writer.Close())
	assert.NoError(t, <-done)
}
