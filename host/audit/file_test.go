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
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if os.PathSeparator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", p, info.Mode(), want)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
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
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
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

// A call that waits for the disk holds up nobody.
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
	if err := errors.Join(<-begun, <-rotated); err != nil {
		t.Fatal(err)
	}
	isWhole(t, path, 4)
}

// short writes half of a line and fails, as a full disk does.
func short(err error) func(*os.File, []byte, int64) (int, error) {
	return func(f *os.File, b []byte, at int64) (int, error) {
		n, _ := f.WriteAt(b[:len(b)/2], at)
		return n, err
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, event := range []string{Begin, End} {
		f, path := newLog(t, 2, Options{})
		before := read(t, path)
		r := record(2)
		r.Event = event
		for _, cause := range fullErrors {
			f.writeAt = short(cause)
			err := f.Write(r)
			equal(t, "the code", tool.CodeOf(err), tool.CodeResourceExhausted)
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), path+" cannot be written") || !strings.Contains(err.Error(), "make space") {
				t.Errorf("the error is %v", err)
			}
			equal(t, "the log", string(read(t, path)), string(before))
		}
		f.writeAt = (*os.File).WriteAt
		write(t, f, 1)
		isWhole(t, path, 3)
	}
}

// Where the piece of the line cannot even be taken away, the next line tells.
func TestTornByAnError(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	writable := f.at.File
	f.at, f.size = &handle{File: readOnly(t, path)}, -1 // which cannot be cut
	f.writeAt = func(_ *os.File, b []byte, at int64) (int, error) {
		return short(syscall.EIO)(writable, b, at)
	}
	err := f.Write(record(1))
	equal(t, "the code", tool.CodeOf(err), tool.CodeInternal)
	if err := errors.Join(f.retire(), writable.Close()); err != nil {
		t.Fatal(err)
	}
	f.writeAt = (*os.File).WriteAt
	write(t, f, 2)
	equal(t, "the number of torn lines", len(isWhole(t, path, 3).Torn), 1)
}

func readOnly(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTorn(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{1, 20, 300, -2, -1} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			t.Parallel()
			f, path := newLog(t, 3, Options{})
			lines := readLines(t, path)
			if keep < 0 {
				keep += len(lines[2])
			}
			overwrite(t, path, lines[0], lines[1], lines[2][:keep])
			wholeLine := keep == len(lines[2])-1 // but for its newline
			if !wholeLine {
				r := verify(t, path)
				equal(t, "the report", brief(r), "2 lines: torn 3")
				equal(t, "whole up to", r.UpTo.Seq, 2)
			}
			// Who wrote the line, and who never saw it, go on alike.
			if keep%2 == 0 {
				f = open(t, path, Options{})
			}
			write(t, f, 2)
			if wholeLine {
				equal(t, "the number of torn lines", len(isWhole(t, path, 5).Torn), 0)
				return
			}
			if keep%2 == 0 {
				r := isWhole(t, path, 4)
				equal(t, "the number of torn lines", len(r.Torn), 1)
				equal(t, "the torn line", r.Torn[0].Line, 3)
			} else { // the writer knows that line 3 was there
				equal(t, "the report", brief(verify(t, path)), "4 lines: missing 4")
			}
			if !bytes.HasPrefix(read(t, path), bytes.Join([][]byte{lines[0], lines[1], lines[2][:keep], []byte("\n")}, nil)) {
				t.Errorf("something was lost:\n%s", read(t, path))
			}
			// The note is part of the chain: the torn line can be neither dropped
			// nor changed.
			repaired := readLines(t, path)
			overwrite(t, path, repaired[0], repaired[1], repaired[3], repaired[4])
			equal(t, "without the torn line it", verify(t, path).Whole(), false)
			overwrite(t, path, repaired[0], repaired[1], []byte("x\n"), repaired[3], repaired[4])
			equal(t, "with another torn line it", verify(t, path).Whole(), false)
		})
	}
}

// What a crash leaves may be of any size and content.
func TestTornLong(t *testing.T) {
	t.Parallel()
	for _, size := range []int{15 << 10, 17 << 10, maxLine, 5 * maxLine} {
		_, path := newLog(t, 1, Options{})
		overwrite(t, path, read(t, path), make([]byte, size))
		write(t, open(t, path, Options{}), 2)
		r := isWhole(t, path, 3)
		equal(t, "the number of torn lines", len(r.Torn), 1)
	}
}

func TestGarbageAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 20 << 10, 5 * maxLine} {
		_, path := newLog(t, 2, Options{})
		overwrite(t, path, read(t, path), bytes.Repeat([]byte("x"), size), []byte("\n"))
		write(t, open(t, path, Options{}), 2)
		equal(t, "the report", brief(verify(t, path)), "4 lines: inserted 3")
	}
}

// Lines that were cut off leave no trace, but for those who wrote them.
func TestCutTail(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 5, Options{})
	lines := readLines(t, path)
	overwrite(t, path, lines[:3]...)
	r := isWhole(t, path, 3)
	if text := r.String(); !strings.Contains(text, "whole up to line 3, ") || !strings.Contains(text, "cut off") {
		t.Errorf("the report is\n%s", text)
	}
	write(t, f, 1)
	r = verify(t, path)
	equal(t, "the report", brief(r), "4 lines: missing 4")
	if !strings.Contains(r.Breaks[0].Text, "lines 4 to 5 are missing") {
		t.Errorf("the text is %s", r.Breaks[0].Text)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, f, 1)
	r = verify(t, path)
	equal(t, "the report", brief(r), "1 lines: missing 1")
	equal(t, "whole up to", r.UpTo.Seq, 7)

	// Who took away the directory too gets a new one.
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	write(t, f, 1)
	equal(t, "the report", brief(verify(t, path)), "1 lines: missing 1")
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
		_, err2 := Verify(path)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), path+" is "+what) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	equal(t, "the link's target", string(read(t, target)), "precious\n")
	if _, err := Open(filepath.Join(target, "audit.jsonl"), Options{}); err == nil {
		t.Error("a log below a file was opened")
	}
}

// Somebody else may have been stopped in the middle of a write.
func TestLocked(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	f.lockTimeout = 10 * time.Millisecond
	other := readOnly(t, path)
	defer func() { _ = other.Close() }()
	if ok, err := tryLock(other, true); !ok || err != nil {
		t.Fatal(ok, err)
	}
	err := f.Write(record(1))
	if !errors.Is(err, errLocked) || !strings.Contains(err.Error(), "another process keeps it locked") {
		t.Errorf("the error is %v", err)
	}
	if err := unlock(other); err != nil {
		t.Fatal(err)
	}
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
				if err := []*File{f, g}[n%2].Write(r); err != nil {
					t.Error(err)
				}
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
			if r, err := Verify(path); err != nil || !r.Whole() {
				t.Errorf("while it is written: %v\n%s", err, &r)
			}
			for _, err := range Tail(path, 3) {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
	isWhole(t, path, 400)
}
