package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The test binary is the program that is copied and run.
const sayVariable = "TOOLHOST_SEALED_SAY"

func TestMain(m *testing.M) {
	if text := os.Getenv(sayVariable); text != "" {
		fmt.Println(text)
		return
	}
	os.Exit(m.Run())
}

// program is a copy of the test binary under a name of its own.
func program(t *testing.T, dir string) (path string, content []byte) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	if content, err = os.ReadFile(exe); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "program"+filepath.Ext(exe))
	require.NoError(t, os.WriteFile(path, content, 0o700))
	return path, content
}

func run(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = append(os.Environ(), sayVariable+"=the old bytes")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}

func private0(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// overwrite changes a file in its place: the same file, other bytes.
func overwrite(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	require.NoError(t, err)
	_, err = f.WriteString(content)
	require.NoError(t, errors.Join(err, f.Close()))
}

func TestCopyRunsWhatWasHashed(t *testing.T) {
	t.Parallel()
	for _, forced := range []bool{false, true} {
		dir := private0(t)
		path, content := program(t, t.TempDir())
		f := require.Must(Copy(t.Context(), path, Options{Dir: dir, Private: forced}))(t)
		overwrite(t, path, "#!/bin/sh\necho the new bytes\n")
		sum := sha256.Sum256(content)
		if f.SHA256 != hex.EncodeToString(sum[:]) || f.Size != int64(len(content)) {
			t.Errorf("%s, %d bytes", f.SHA256, f.Size)
		}
		if f.Sealed != (runtime.GOOS == "linux" && !forced) || f.Sealed != (f.Descriptor() != nil) {
			t.Errorf("sealed: %v, descriptor %v", f.Sealed, f.Descriptor())
		}
		for range 3 {
			assert.Equalf(t, run(t, f.Path()), "the old bytes", "it says")
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil || f.Path() != "" || f.Descriptor() != nil {
			t.Errorf("closed: %v, %q", err, f.Path())
		}
		empty(t, dir)
	}
}

// Many copies are made and run at a time: none is still open for writing by then.
func TestCopySideBySide(t *testing.T) {
	t.Parallel()
	dir := private0(t)
	path, _ := program(t, t.TempDir())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 4 {
				f, err := Copy(t.Context(), path, Options{Dir: dir, Private: i%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				run(t, f.Path())
				assert.NoError(t, f.Close())
			}
		})
	}
	all.Wait()
	empty(t, dir)
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, content := program(t, dir)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700))
	own := private0(t)
	for name, c := range map[string]struct {
		ctx  context.Context
		path string
		o    Options
		is   error
		text string
	}{
		"missing":            {t.Context(), filepath.Join(dir, "none"), Options{}, fs.ErrNotExist, "none"},
		"a directory":        {t.Context(), dir, Options{}, nil, "a directory"},
		"a link":             {t.Context(), link, Options{}, nil, "a symbolic link"},
		"too large":          {t.Context(), path, Options{MaxSize: int64(len(content)) - 1}, nil, "more than"},
		"canceled":           {canceled, path, Options{Dir: own}, context.Canceled, path},
		"no directory":       {t.Context(), script, Options{}, nil, "no directory for one"},
		"no such directory":  {t.Context(), script, Options{Dir: filepath.Join(dir, "none")}, fs.ErrNotExist, "none"},
		"an open directory":  {t.Context(), script, Options{Dir: open}, nil, "is not private"},
		"a file for a place": {t.Context(), script, Options{Dir: path}, nil, "is not private"},
	} {
		f, err := Copy(c.ctx, c.path, c.o)
		if f != nil || err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	empty(t, own)
}

// changing does something to a file when half of it was read.
type changing struct {
	io.Reader
	half   int64
	change func()
}

func (c *changing) Read(b []byte) (int, error) {
	if c.half <= 0 && c.change != nil {
		c.change()
		c.change = nil
	}
	n, err := c.Reader.Read(b[:min(len(b), 4096)])
	c.half -= int64(n)
	return n, err
}

func TestCopyOfWhatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *os.File) error{
		"truncated": func(f *os.File) error { return f.Truncate(100) },
		"longer":    func(f *os.File) error { return errors.Join(seekEnd(f), writeAll(f, "more")) },
		"overwritten": func(f *os.File) error {
			_, err := f.WriteAt([]byte("other"), 1)
			return err
		},
		"not": nil,
	} {
		path := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 100_000), 0o700))
		old := mustStat(t, path).ModTime().Add(-1e9) // so that any write shows in it
		require.NoError(t, os.Chtimes(path, old, old))
		from, before, err := Open(path, MaxSize)
		require.NoError(t, err)
		to := require.Must(target(Options{Dir: private0(t)}, "program", false))(t)
		r := &changing{Reader(t.Context(), from, before.Size()), 50_000, func() {
			if change == nil {
				return
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				err = errors.Join(change(f), f.Close())
			}
			assert.NoError(t, err)
		}}
		err = to.fill(t.Context(), r, from, before)
		if (change == nil) != (err == nil) || err != nil && !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		assert.NoError(t, errors.Join(from.Close(), to.Close()))
	}
}

func mustStat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info := require.Must(os.Stat(path))(t)
	return info
}

func seekEnd(f *os.File) error { _, err := f.Seek(0, io.SeekEnd); return err }

func writeAll(f *os.File, s string) error { _, err := f.WriteString(s); return err }
