package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Lines that come while one is written are one write, in files of their size. If that fails, each is tried by itself,
// and fails only the call that it is of.
func TestLinesThatComeTogether(t *testing.T) {
	t.Parallel()
	const others = 9
	for name, c := range map[string]struct {
		size          int64
		fails         func(lines []byte) bool
		writes, files int
		failed        int // -1: none
	}{
		"room":            {-1, nil, 2, 1, -1},
		"several files":   {threeLines(t), nil, 5, 4, -1},
		"room for one":    {-1, func(b []byte) bool { return bytes.Count(b, []byte("\n")) > 1 }, 2 + others, 1, -1},
		"one is too much": {-1, func(b []byte) bool { return bytes.Contains(b, []byte(`"call":"c5"`)) }, 2 + others, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, path := newLog(t, 0, Options{MaxSize: c.size, Keep: -1})
			errs, writes := make([]error, others+1), 0
			var all sync.WaitGroup
			write := func(i int) { all.Go(func() { errs[i] = f.Write(record(i)) }) }
			f.mu.Lock()
			f.writeAt = func(file *os.File, b []byte, at int64) (int, error) {
				if writes++; writes == 1 {
					for i := range others {
						write(i + 1)
					}
					require.Eventually(t, "the other lines", func() bool {
						f.joining.Lock()
						defer f.joining.Unlock()
						return len(f.joined) == others
					})
				} else if c.fails != nil && c.fails(b) {
					return short(syscall.ENOSPC)(file, b, at)
				}
				return file.WriteAt(b, at)
			}
			f.mu.Unlock()
			write(0)
			all.Wait()
			lines := len(errs)
			for i, err := range errs {
				if assert.Equalf(t, errors.Is(err, syscall.ENOSPC), i == c.failed, "line %d: %v", i, err); err != nil {
					lines--
				}
			}
			isWhole(t, path, lines)
			equal(t, "the number of writes", writes, c.writes)
			files := require.Must(filepath.Glob(path + "*"))(t)
			equal(t, "the number of files, with the lock file", len(files), c.files+1)
		})
	}
}
