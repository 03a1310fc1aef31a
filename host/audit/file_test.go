package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 3, Options{})
	lines := readLines(t, path)
	equal(t, "the number of lines", len(lines), 3)
	if !bytes.HasPrefix(lines[0], []byte(`{"seq":1,"prev":"","time":"2026-10-11T12:00:00Z","event":"end","call":"c0",`)) {
		t.Errorf("the first line is %s", lines[0])
	}
	r := isWhole(t, path, 3)
	equal(t, "the first number", r.From.Seq, 1)
	equal(t, "the last number", r.UpTo.Seq, 3)
	equal(t, "the last time", r.UpTo.Time, start.Add(2*time.Second))
	if !bytes.Contains(lines[2], []byte(`"hash":"`+r.UpTo.Hash+`"}`)) {
		t.Errorf("the last hash is %s, of %s", r.UpTo.Hash, lines[2])
	}

	// Another one goes on, and both.
	g := open(t, path, Options{})
	write(t, g, 2)
	write(t, f, 2)
	write(t, g, 1)
	isWhole(t, path, 8)
}

func TestModes(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 0, Options{})
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info := require.Must(os.Stat(p))(t)
		if os.PathSeparator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", p, info.Mode(), want)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	for range 2 {
		require.NoError(t, f.Close())
	}
	err := f.Write(record(1))
	equal(t, "the code", tool.CodeOf(err), tool.CodeUnavailable)
	if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), path+" is closed") {
		t.Errorf("the error is %v", err)
	}
	isWhole(t, path, 1)
}

// begin is on disk before Write returns, with all that stands before it.
func TestBeginIsOnDisk(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{})
	var synced []int64
	f.sync = func(file *os.File) error {
		info, err := file.Stat()
		synced = append(synced, info.Size())
		return errors.Join(err, syncFile(file))
	}
	r := record(0)
	for _, r.Event = range []string{End, Begin, End} {
		require.NoError(t, f.Write(r))
	}
	lines := readLines(t, path)
	equal(t, "the synced sizes", fmt.Sprint(synced), fmt.Sprint([]int{len(lines[0]) + len(lines[1])}))
	equal(t, "the name on disk", f.at.named.Load(), true)

	f.sync = func(*os.File) error { return syscall.EIO }
	r.Event = Begin
	if err := f.Write(r); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "cannot be put on disk") {
		t.Errorf("the error is %v", err)
	}
	isWhole(t, path, 4)
}

// A call that waits for the disk does not delay others.
func TestSyncHoldsUpNobody(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{MaxSize: 1000})
	syncing, goOn := make(chan struct{}), make(chan struct{})
	f.sync = func(file *os.File) error {
		close(syncing)
		<-goOn
		return syncFile(file)
	}
	begun := make(chan error)
	go func() {
		r := record(0)
		r.Event = Begin
		begun <- f.Write(r)
	}()
	<-syncing
	write(t, f, 1)
	rotated := make(chan error) // needs the file closed
	go func() { rotated <- errors.Join(f.Write(record(1)), f.Write(record(2))) }()
	select {
	case err := <-begun:
		t.Fatalf("begin has returned %v", err)
	default:
	}
	close(goOn)
	require.NoError(t, errors.Join(<-begun, <-rotated))
	isWhole(t, path, 4)
}

// short writes half of a line and fails, as a full disk does.
func short(err error) func(*os.File, []byte, int64) (int, error) {
	return func(f *os.File, b []byte, at int64) (int, error) {
		n, _ := f.WriteAt(b[:len(b)/2], at)
		return n, err
	}
}

func readOnly(t *testing.T, path string) *os.File {
	t.Helper()
	f := require.Must(os.Open(path))(t)
	return f
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	overwrite(t, target, []byte("precious\n"))
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	for path, what := range map[string]string{link: "a symbolic link", dir: "a directory", os.DevNull: "a device"} {
		_, err := Open(path, Options{})
		_, err2 := Verify(t.Context(), path)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.HasSuffix(err.Error(), "it is "+what) || !strings.Contains(err.Error(), path+" cannot be ") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	equal(t, "the link's target", string(read(t, target)), "precious\n")
	if _, err := Open(filepath.Join(target, "audit.jsonl"), Options{}); err == nil {
		t.Error("a log below a file was opened")
	}
}

// Another process may have been stopped in the middle of a write.
func TestLocked(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	f.lockTimeout = 10 * time.Millisecond
	other := readOnly(t, path+lockSuffix)
	defer func() { _ = other.Close() }()
	require.NoError(t, safefile.Lock(other, safefile.Exclusive, time.Time{}))
	r := record(1)
	r.Event = Begin
	err := f.Write(r)
	if !errors.Is(err, safefile.ErrLocked) || !strings.Contains(err.Error(), "another process keeps it locked") {
		t.Errorf("the error is %v", err)
	}
	require.NoError(t, safefile.Unlock(other))
	write(t, f, 1)
	isWhole(t, path, 2)
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{MaxSize: 20_000, Keep: -1})
	g := open(t, path, Options{MaxSize: 20_000, Keep: -1})
	var writers, readers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			for i := range 50 {
				r := record(i)
				if i%10 == n {
					r.Event = Begin
				}
				assert.NoError(t, []*File{f, g}[n%2].Write(r))
			}
		})
	}
	stop := make(chan struct{})
	readers.Go(func() { // at each moment it is whole
		for {
			select {
			case <-stop:
				return
			default:
			}
			if r, err := Verify(t.Context(), path); err != nil || r.Break != nil {
				t.Errorf("while it is written: %v\n%s", err, &r)
			}
			for _, err := range Search(t.Context(), path, Filter{Limit: 3}) {
				assert.NoError(t, err)
			}
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
	isWhole(t, path, 400)
}
