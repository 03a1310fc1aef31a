//go:build unix

package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

func init() { children["hold"] = childHolds }

// childHolds locks a file as flock(1) does, shared or alone, until its standard
// input ends.
func childHolds(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	if err := safefile.Lock(file, safefile.LockMode(args[1] != "alone"), time.Time{}); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// hold has another process lock a file. The function ends it.
func hold(t *testing.T, path, how string) (release func()) {
	t.Helper()
	cmd := child(t, "hold", path, how)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = errors.Join(in.Close(), cmd.Wait()) })
	t.Cleanup(release)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return release
}

// warned is a log that tells what it is warned of.
func warned(t *testing.T, o Options) (f *File, path string, warnings chan string) {
	t.Helper()
	warnings = make(chan string, 100)
	o.Warn = func(text string) { warnings <- text }
	f, path = newLog(t, 1, o)
	return f, path, warnings
}

// Readers of the log can lock it, and delay no writer.
func TestReaderLocksTheLog(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"shared", "alone"} {
		f, path, warnings := warned(t, Options{})
		hold(t, path, how)
		began := time.Now()
		write(t, f, 50)
		g := open(t, path, Options{})
		write(t, g, 1)
		// A wait that was in vain would be as long for each.
		if took := time.Since(began); took > 20*50*(olderWriterTimeout+5*time.Millisecond) {
			t.Errorf("%s: 51 lines took %v", how, took)
		}
		isWhole(t, path, 52)
		equal(t, "the number of warnings", len(warnings), 0)
	}
}

// One call waits for a log that another process keeps locked. End lines are kept,
// and written in their order when it is free; a begin line fails at once.
func TestLockedForLong(t *testing.T) {
	t.Parallel()
	f, path, warnings := warned(t, Options{MaxSize: threeLines(t), Keep: -1})
	release := hold(t, path+lockSuffix, "shared")
	const wait, lines = 100 * time.Millisecond, 200
	f.lockTimeout = wait
	began := time.Now()
	for i := range lines {
		if err := f.Write(record(i)); err != nil {
			t.Fatal(err)
		}
		begin := record(i)
		begin.Event = Begin
		if err := f.Write(begin); !errors.Is(err, safefile.ErrLocked) || !strings.Contains(err.Error(), lockSuffix+" open") {
			t.Fatalf("a begin line: %v", err)
		}
	}
	if took := time.Since(began); took > 20*wait {
		t.Errorf("%d calls took %v, where one was to wait %v", lines, took, wait)
	}
	if first := <-warnings; !strings.Contains(first, "another process keeps it locked; the end lines of calls are kept in memory") {
		t.Errorf("it says %q", first)
	}
	equal(t, "the number of lines on disk", len(readLines(t, path)), 1)
	release()
	if last := <-warnings; !strings.HasSuffix(last, "is written again, with the 200 lines that waited") { // by itself
		t.Errorf("it says %q", last)
	}
	write(t, f, 1)
	isWhole(t, path, lines+2)
	want := "c0"
	for i := range lines {
		want += fmt.Sprint(" c", i)
	}
	equal(t, "the calls", calls(t, Search(t.Context(), path, Filter{})), want+" c0")
	equal(t, "the number of other warnings", len(warnings), 0)
}

// What waits has bounds, and Close tells of what it could not write.
func TestCloseWhileLocked(t *testing.T) {
	t.Parallel()
	f, path, _ := warned(t, Options{})
	f.lockTimeout = time.Millisecond
	release := hold(t, path+lockSuffix, "alone")
	kept := 0
	for ; f.Write(record(kept)) == nil; kept++ {
		continue
	}
	equal(t, "the number of lines that are kept", kept, maxQueued)
	large := record(0)
	large.Input = fmt.Appendf(nil, "%q", strings.Repeat("x", MaxInput-2))
	g := open(t, path, Options{}) // which cannot be had now, either
	g.lockTimeout = time.Millisecond
	kept = 0
	for ; g.Write(large) == nil; kept++ {
		continue
	}
	if kept >= maxQueued || g.waiting.bytes > maxQueuedBytes {
		t.Errorf("%d large lines are kept, of %d bytes", kept, g.waiting.bytes)
	}
	if err := f.Close(); !errors.Is(err, safefile.ErrLocked) || !strings.Contains(err.Error(), "the end lines of calls c0, c1, c2, ") ||
		!strings.Contains(err.Error(), " and 1014 more are lost") {
		t.Errorf("Close: %v", err)
	}
	release()
	if err := g.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	isWhole(t, path, 1+kept)
}

// The lock file may be removed or exchanged, and is none of the log.
func TestLockFile(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	if err := os.Remove(path + lockSuffix); err != nil {
		t.Fatal(err)
	}
	g := open(t, path, Options{})
	write(t, g, 1)
	hold(t, path+lockSuffix, "alone")
	f.lockTimeout = time.Millisecond
	begin := record(0)
	begin.Event = Begin
	if err := f.Write(begin); !errors.Is(err, safefile.ErrLocked) {
		t.Errorf("a lock file that was replaced does not keep writers out: %v", err)
	}
	info, err := os.Stat(path + lockSuffix)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock file: %v, %v", info, err)
	}

	// Log and lock file moved away together are made again together.
	f, path = newLog(t, 1, Options{})
	if err := errors.Join(os.Rename(path, path+".away"), os.Rename(path+lockSuffix, path+".away.lock")); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path, Options{}), 1)
	hold(t, path+lockSuffix, "alone")
	f.lockTimeout = time.Millisecond
	if err := f.Write(begin); !errors.Is(err, safefile.ErrLocked) {
		t.Errorf("a lock file that was moved away is kept to: %v", err)
	}

	link := filepath.Join(t.TempDir(), "audit.jsonl")
	target := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, link+lockSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, Options{}); err == nil || !strings.Contains(err.Error(), "audit.jsonl.lock cannot be used: it is a symbolic link") {
		t.Errorf("a lock file that is a link: %v", err)
	}
	if _, err := os.Lstat(target); !isMissing(err) {
		t.Errorf("the link's target: %v", err)
	}
	device := filepath.Join(t.TempDir(), "none")
	if err := os.Mkdir(device, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(device, Options{}); err == nil {
		t.Error("a directory is opened")
	}
	if _, err := os.Lstat(device + lockSuffix); !isMissing(err) {
		t.Errorf("a lock file was made next to what cannot be a log: %v", err)
	}
}

// A log is read while it is locked, and by those who may not lock it.
func TestReadWhileLocked(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 3, Options{})
	release := hold(t, path+lockSuffix, "alone")
	isWhole(t, path, 3)
	release()
	if err := os.Remove(path + lockSuffix); err != nil {
		t.Fatal(err)
	}
	isWhole(t, path, 3)
	if _, err := os.Lstat(path + lockSuffix); !isMissing(err) {
		t.Errorf("a reader made a lock file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("it is no longer used: %v", err)
	}
}
