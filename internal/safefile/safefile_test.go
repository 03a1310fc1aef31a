package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, errors.Join(
		os.WriteFile(at("file"), []byte("content"), 0o600),
		os.Symlink(at("file"), at("link")),
		syscall.Mkfifo(at("fifo"), 0o600),
		os.Mkdir(at("dir"), 0o700),
	))
	for name, want := range map[string]string{
		"file": "", "none": "no such file", "link": "it is a symbolic link", "fifo": "it is a FIFO", "dir": "it is a directory",
	} {
		f, info, err := Open(at(name), os.O_RDONLY)
		if want == "" {
			if err != nil || info.Size() != 7 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
			_ = f.Close()
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	// What is opened counts, whatever the path was before.
	if f, err := openNoFollow(at("link"), os.O_RDWR|os.O_CREATE); !errors.Is(err, errSymlink) {
		t.Errorf("a link is opened: %v, %v", f, err)
	}
	if f, err := openNoFollow(at("fifo"), os.O_RDONLY); err != nil { // and does not wait
		t.Error(err)
	} else {
		_ = f.Close()
	}
	f, _, err := OpenTarget(at("link"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	if there, err := IsAt(at("file"), f); !there || err != nil {
		t.Errorf("the link's target is another file: %v", err)
	}
	for _, name := range []string{"link", "none"} {
		if there, err := IsAt(at(name), f); there || err != nil {
			t.Errorf("%s is the file: %v", name, err)
		}
	}
}

func TestReplaceAndCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	has := func(content string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("it has %q, %v, want %q", got, err, content)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
			t.Errorf("its mode is %v, %v, want %v", info.Mode(), err, mode)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%v, %v are left", left, err)
		}
	}
	require.NoError(t, Create(path, []byte("a"), 0o600))
	has("a", 0o600)
	assert.ErrorIsf(t, Create(path, []byte("b"), 0o600), fs.ErrExist, "a file is replaced")
	has("a", 0o600)
	require.NoError(t, Replace(path, []byte("b"), 0o644))
	has("b", 0o644)
	if err := Replace(filepath.Join(path, "below"), nil, 0o644); err == nil || IsFull(err) {
		t.Errorf("below a file: %v", err)
	}
	if !IsFull(fmt.Errorf("wrapped: %w", syscall.EDQUOT)) {
		t.Error("a quota that is used up is not a full disk")
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		t.Helper()
		f, _, err := Open(path, os.O_RDWR|os.O_CREATE)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	a, b := open(), open()
	for _, c := range []struct {
		first, second LockMode
		want          error
	}{{Exclusive, Exclusive, ErrLocked}, {Exclusive, Shared, ErrLocked}, {Shared, Exclusive, ErrLocked}, {Shared, Shared, nil}} {
		require.NoError(t, Lock(a, c.first, time.Time{}))
		assert.ErrorIsf(t, Lock(b, c.second, time.Now().Add(time.Millisecond)), c.want, "shared %v, then shared %v", c.first, c.second)
		require.NoError(t, errors.Join(Unlock(a), Unlock(b)))
	}
	require.NoError(t, Lock(a, Exclusive, time.Time{}))
	time.AfterFunc(10*time.Millisecond, func() { _ = a.Close() })
	if err := Lock(b, Exclusive, time.Now().Add(time.Minute)); err != nil {
		t.Errorf("it is not locked when the holder has closed it: %v", err)
	}
}
