package audit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// follow calls step in a world whose time is not the real one. What was seen of
// the log since the last look is what seen returns.
func follow(t *testing.T, path string, n int, step func(seen func() string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range Search(ctx, path, Filter{Limit: n, Follow: true}) {
				var unreadable *Break
				if errors.As(err, &unreadable) {
					e.Call = "?"
				} else if err != nil {
					e.Call = err.Error()
				}
				mu.Lock()
				got = append(got, e.Call)
				mu.Unlock()
			}
		}()
		step(func() string {
			<-time.After(pollInterval)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			out := strings.Join(got, " ")
			got = nil
			return out
		})
		cancel()
		<-done
	})
}

func TestFollow(t *testing.T) {
	t.Parallel()
	size := threeLines(t)
	f, path := newLog(t, 2, Options{MaxSize: size})
	follow(t, path, 1, func(seen func() string) {
		equal(t, "at first", seen(), "c1")
		equal(t, "later", seen(), "")
		write(t, f, 1)
		equal(t, "a new line", seen(), "c0")
		write(t, f, 2) // in the next file
		equal(t, "across a rotation", seen(), "c0 c1")
		write(t, f, 8) // four more files
		equal(t, "across many", seen(), "c0 c1 c2 c3 c4 c5 c6 c7")
	})
}

// A piece of a line is none until it is whole, or its file is complete.
func TestFollowPieces(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 3, Options{})
	lines := readLines(t, path)
	overwrite(t, path, lines[0], lines[1][:40])
	follow(t, path, 9, func(seen func() string) {
		equal(t, "at first", seen(), "c0")
		overwrite(t, path, lines[0], lines[1])
		equal(t, "when it is whole", seen(), "c1")
		overwrite(t, path, lines[0], lines[1], []byte("garbage\n"), lines[2], lines[2][:9])
		equal(t, "garbage", seen(), "? c2")
		require.NoError(t, os.Rename(path, rotatedPath(path, 1)))
		equal(t, "between two files", seen(), "?")
		write(t, open(t, path, Options{}), 1)
		equal(t, "in the next one", seen(), "c0")
		overwrite(t, path, nil)
		equal(t, "when it was cut", seen(), "")
		overwrite(t, path, lines[0])
		equal(t, "then", seen(), "c0")
	})
}

func TestFollowBeforeTheBeginning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	follow(t, path, 5, func(seen func() string) {
		equal(t, "without a log", seen(), "")
		write(t, open(t, path, Options{}), 2)
		equal(t, "when it is there", seen(), "c0 c1")
	})
}

// The file that is followed may be gone before anybody looks again.
func TestFollowBehindKeep(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 2, Options{MaxSize: threeLines(t), Keep: 2})
	follow(t, path, 2, func(seen func() string) {
		equal(t, "at first", seen(), "c0 c1")
		write(t, f, 12)
		equal(t, "what is kept, and the rest of the old file", seen(), "c0 c4 c5 c6 c7 c8 c9 c10 c11")
	})
	// A crash between two files, and no line that is shown twice.
	f, path = newLog(t, 2, Options{})
	require.NoError(t, errors.Join(f.Close(), os.Rename(path, rotatedPath(path, 1))))
	follow(t, path, 2, func(seen func() string) {
		equal(t, "at first", seen(), "c0 c1")
		write(t, open(t, path, Options{}), 1)
		equal(t, "then", seen(), "c0")
	})
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 2, Options{})
	for e, err := range Search(t.Context(), path, Filter{Limit: 2, Follow: true}) {
		require.NoError(t, err)
		equal(t, "the first", e.Call, "c0")
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	equal(t, "after the context has ended", calls(t, Search(ctx, path, Filter{Limit: 2, Follow: true})), "")
	for _, err := range Search(t.Context(), filepath.Dir(path), Filter{Limit: 1, Follow: true}) {
		assert.ErrorContainsf(t, err, " cannot be read: it is a directory", "a directory")
	}
	if !bytes.HasSuffix(read(t, path), []byte("}\n")) {
		t.Error("reading has changed the log")
	}
}
