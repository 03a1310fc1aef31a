package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// sparse is a file of so many bytes of which some are written, each at its place.
func sparse(t *testing.T, size int64, at map[int64]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700) //nolint:gosec // a program
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for offset, text := range at {
		require.Must(f.WriteAt([]byte(text), offset))(t)
	}
	if err := f.Truncate(size); err != nil {
		t.Skip("this file system has no such files:", err)
	}
	return path
}

// A hole in the file is a hole in the copy: a large file with little in it takes little
// memory. The bytes are the same.
func TestHolesTakeNoMemory(t *testing.T) {
	t.Parallel()
	const size = 64<<20 + 17
	path := sparse(t, size, map[int64]string{0: "begin", 5000: "a\x00b", 30 << 20: strings.Repeat("x", 9000), size - 1: "\x00"})
	content := require.Must(os.ReadFile(path))(t)
	f := require.Must(Copy(t.Context(), path, Options{}))(t)
	defer func() { _ = f.Close() }()
	copied, err := os.ReadFile(f.Path())
	if sum := sha256.Sum256(content); err != nil || !bytes.Equal(copied, content) || f.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("the copy has %d bytes, %v, digest %s", len(copied), err, f.SHA256)
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(f.Descriptor().Fd()), &stat); err != nil || stat.Blocks*512 > 1<<20 {
		t.Errorf("the copy takes %d KiB of memory, %v", stat.Blocks/2, err)
	}
}

// What is too large is refused before it is read, and reading ends with its context.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	path := sparse(t, 4<<40, nil)
	for _, o := range []Options{{}, {Private: true, Dir: private0(t)}} {
		if _, err := Copy(t.Context(), path, o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes, more than the %d", int64(4<<40), int64(MaxSize))) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	from := reader(func(b []byte) (int, error) { cancel(why); return len(b), nil })
	if n, err := Reader(ctx, from, MaxSize).Read(make([]byte, 100)); n != 100 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := Reader(ctx, from, MaxSize).Read(make([]byte, 100)); !errors.Is(err, why) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := Copy(ctx, sparse(t, MaxSize, nil), Options{}); !errors.Is(err, why) {
		t.Errorf("a copy after its end: %v", err)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }
