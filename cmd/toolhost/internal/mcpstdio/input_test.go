package mcpstdio

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// TestInput closes inputs of all kinds while they are read.
func TestInput(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T) (*os.File, *os.File) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		return r, w
	}
	sockets := func(t *testing.T) (*os.File, *os.File) {
		fds := require.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
		return os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
	}
	for name, c := range map[string]struct {
		open   func(*testing.T) (in, out *os.File)
		shared bool
		polled bool
	}{
		"a pipe":             {pipe, false, true},
		"a socket":           {sockets, false, true},
		"a socket both ways": {sockets, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := c.open(t)
			defer func() { _, _ = f.Close(), w.Close() }()
			blocks(t, f)
			var others []*os.File
			if c.shared {
				others = append(others, f)
			}
			in := input(f, others...)
			if _, polled := in.(*polledFile); polled != c.polled {
				t.Errorf("it is polled: %t", polled)
			}
			require.Must(w.WriteString("hello"))(t)
			b := make([]byte, 10)
			if n, err := io.ReadFull(in, b[:5]); err != nil {
				t.Fatal(n, err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := in.Read(b)
				ended <- err
			}()
			require.NoError(t, in.Close())
			if err := <-ended; err != io.EOF { //nolint:errorlint // as readers return it
				t.Errorf("the Read ended with %v", err)
			}
			blocks(t, f)
		})
	}
}

// blocks demands that f is as it was.
func blocks(t *testing.T, f *os.File) {
	t.Helper()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("its flags are %o (%v)", flags, err)
	}
}

// TestInputOfFile reads a file to its end.
func TestInputOfFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600))
	f := require.Must(os.Open(path))(t)
	defer func() { _ = f.Close() }()
	in := input(f)
	if text, err := io.ReadAll(in); err != nil || string(text) != "hello" {
		t.Errorf("read %q, %v", text, err)
	}
	assert.NoError(t, in.Close())
}
