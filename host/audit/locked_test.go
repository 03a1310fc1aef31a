package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// hold locks a file by a handle of its own, as another process does. The function unlocks it.
func hold(t *testing.T, path string, how safefile.LockMode) (release func()) {
	t.Helper()
	file := require.Must(os.Open(path))(t)
	require.NoError(t, safefile.Lock(file, how, time.Time{}))
	release = sync.OnceFunc(func() { _ = errors.Join(safefile.Unlock(file), file.Close()) })
	t.Cleanup(release)
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
	for _, how := range []safefile.LockMode{safefile.Shared, safefile.Exclusive} {
		synctest.Test(t, func(t *testing.T) {
			f, path, warnings := warned(t, Options{})
			hold(t, path, how)
			began := time.Now()
			write(t, f, 50)
			g := open(t, path, Options{})
			write(t, g, 1)
			if took := time.Since(began); took > 0 {
				t.Errorf("51 lines took %v", took)
			}
			isWhole(t, path, 52)
			equal(t, "the number of warnings", len(warnings), 0)
		})
	}
}

// One call waits for a log that another process keeps locked. End lines are kept,
// and written in their order when it is free; a begin line fails at once.
func TestLockedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, path, warnings := warned(t, Options{MaxSize: threeLines(t), Keep: -1})
		release := hold(t, path+lockSuffix, safefile.Shared)
		const lines = 200
		began := time.Now()
		for i := range lines {
			require.NoError(t, f.Write(record(i)))
			begin := record(i)
			begin.Event = Begin
			if err := f.Write(begin); !errors.Is(err, safefile.ErrLocked) || !strings.Contains(err.Error(), lockSuffix+" open") {
				t.Fatalf("a begin line: %v", err)
			}
		}
		isLockTimeout(t, "all calls, of which one waits,", time.Since(began))
		assert.Containsf(t, <-warnings, "another process keeps it locked; the end lines of calls are kept in memory", "it says")
		equal(t, "the number of lines on disk", len(readLines(t, path)), 1)
		release()
		began = time.Now()
		if last := <-warnings; !strings.HasSuffix(last, "is written again, with the 200 lines that waited") { // by itself
			t.Errorf("it says %q", last)
		}
		equal(t, "the time until then", time.Since(began), retryPause)
		write(t, f, 1)
		isWhole(t, path, lines+2)
		want := "c0"
		for i := range lines {
			want += fmt.Sprint(" c", i)
		}
		equal(t, "the calls", calls(t, Search(t.Context(), path, Filter{})), want+" c0")
		equal(t, "the number of other warnings", len(warnings), 0)
	})
}

// isLockTimeout checks that something took as long as a call waits for the lock.
func isLockTimeout(t *testing.T, what string, took time.Duration) {
	t.Helper()
	const pause = 5 * time.Millisecond // between two attempts
	if took < lockTimeout || took > lockTimeout+pause {
		t.Errorf("%s took %v, not %v", what, took, lockTimeout)
	}
}

// What waits has bounds, and Close tells of what it could not write.
func TestCloseWhileLocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, path, _ := warned(t, Options{})
		release := hold(t, path+lockSuffix, safefile.Exclusive)
		kept := 0
		for ; f.Write(record(kept)) == nil; kept++ {
			continue
		}
		equal(t, "the number of lines that are kept", kept, maxQueued)
		large := record(0)
		large.Input = fmt.Appendf(nil, "%q", strings.Repeat("x", redact.MaxInput-2))
		g := open(t, path, Options{}) // which cannot be had now, either
		kept = 0
		for ; g.Write(large) == nil; kept++ {
			continue
		}
		if kept >= maxQueued || g.waiting.bytes > maxQueuedBytes {
			t.Errorf("%d large lines are kept, of %d bytes", kept, g.waiting.bytes)
		}
		synctest.Wait() // an attempt to write them that has begun would wait for Close, and time for it
		began := time.Now()
		if err := f.Close(); !errors.Is(err, safefile.ErrLocked) || !strings.Contains(err.Error(), "the end lines of calls c0, c1, c2, ") ||
			!strings.Contains(err.Error(), " and 1014 more are lost") {
			t.Errorf("Close: %v", err)
		}
		isLockTimeout(t, "Close", time.Since(began))
		release()
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		isWhole(t, path, 1+kept)
	})
}

// The lock file may be removed or exchanged, and is none of the log.
func TestLockFile(t *testing.T) {
	t.Parallel()
	begin := record(0)
	begin.Event = Begin
	synctest.Test(t, func(t *testing.T) {
		f, path := newLog(t, 1, Options{})
		require.NoError(t, os.Remove(path+lockSuffix))
		g := open(t, path, Options{})
		write(t, g, 1)
		hold(t, path+lockSuffix, safefile.Exclusive)
		assert.ErrorIsf(t, f.Write(begin), safefile.ErrLocked, "a lock file that was replaced does not keep writers out")
		info, err := os.Stat(path + lockSuffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the lock file: %v, %v", info, err)
		}

		// Log and lock file moved away together are made again together.
		f, path = newLog(t, 1, Options{})
		require.NoError(t, errors.Join(os.Rename(path, path+".away"), os.Rename(path+lockSuffix, path+".away.lock")))
		write(t, open(t, path, Options{}), 1)
		hold(t, path+lockSuffix, safefile.Exclusive)
		time.Sleep(lookPause)
		assert.ErrorIsf(t, f.Write(begin), safefile.ErrLocked, "a lock file that was moved away is kept to")
	})

	link := filepath.Join(t.TempDir(), "audit.jsonl")
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Symlink(target, link+lockSuffix))
	if _, err := Open(link, Options{}); err == nil || !strings.Contains(err.Error(), "audit.jsonl.lock cannot be used: it is a symbolic link") {
		t.Errorf("a lock file that is a link: %v", err)
	}
	if _, err := os.Lstat(target); !isMissing(err) {
		t.Errorf("the link's target: %v", err)
	}
	device := filepath.Join(t.TempDir(), "none")
	require.NoError(t, os.Mkdir(device, 0o700))
	if _, err := Open(device, Options{}); err == nil {
		t.Error("a directory is opened")
	}
	if _, err := os.Lstat(device + lockSuffix); !isMissing(err) {
		t.Errorf("a lock file was made next to what cannot be a log: %v", err)
	}
}

// What others move away is written for a moment longer, and by no writer once another has noticed. What they remove,
// replace or cut is noticed by the next line.
func TestMovedAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, path := newLog(t, 1, Options{})
		g := open(t, path, Options{})
		write(t, g, 1)
		time.Sleep(lookPause / 2)
		write(t, open(t, path, Options{}), 1)
		require.NoError(t, os.Rename(path, path+".away"))
		write(t, g, 1)
		equal(t, "the lines of the moved file", len(readLines(t, path+".away")), 4)
		time.Sleep(lookPause / 2)
		write(t, g, 1) // which was looked at last when it began
		equal(t, "the lines of the new file", len(readLines(t, path)), 1)
		f.looked = time.Now() // as if it had looked right before
		write(t, f, 1)
		equal(t, "the lines of the new file then", len(readLines(t, path)), 2)
		equal(t, "the lines of the moved file then", len(readLines(t, path+".away")), 4)
		equal(t, "the report", brief(verify(t, path)), "2 lines: missing 1")

		require.NoError(t, os.Rename(path, path+".away"))
		write(t, open(t, path, Options{}), 1) // which begins a file without having seen one
		f.looked = time.Now()
		write(t, f, 1)
		equal(t, "the lines of a file that another process has begun", len(readLines(t, path)), 2)

		for name, harm := range map[string]func() error{
			"removed":  func() error { return os.Remove(path) },
			"replaced": func() error { return os.Rename(path+".away", path) },
			"cut":      func() error { return os.Truncate(path, 0) },
		} {
			require.NoError(t, harm())
			write(t, f, 1)
			last := readLines(t, path)
			if l, ok := parseLink(bytes.TrimSuffix(last[len(last)-1], []byte("\n"))); !ok || l.seq != f.last.seq {
				t.Errorf("after it was %s, the line went elsewhere: %s", name, last)
			}
			require.NoError(t, os.WriteFile(path+".away", nil, 0o600))
		}
	})
}

// A log is read while it is locked, and by those who may not lock it.
func TestReadWhileLocked(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 3, Options{})
	release := hold(t, path+lockSuffix, safefile.Exclusive)
	isWhole(t, path, 3)
	release()
	require.NoError(t, os.Remove(path+lockSuffix))
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
