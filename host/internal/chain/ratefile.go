package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// rateFile counts calls in a file that several processes use: commands that run alone, and a
// daemon in addition to them. It has the buckets that are not full. The file is written in place and not
// synced, which is quick enough for each call; one that a power failure has left damaged starts
// again.
type rateFile struct {
	path string
	mu   sync.Mutex // the lock of the file keeps other processes out, not this one's calls
}

const (
	// maxRateFile bounds the file, in bytes; its buckets are removed when they are full.
	maxRateFile = 4 << 20
	// rateLockTime bounds how long a call waits for other processes.
	rateLockTime = 5 * time.Second
)

// rateEntry is a bucket in the file. Another limit is another bucket.
type rateEntry struct {
	Caller string         `json:"caller"`
	Tool   string         `json:"tool,omitempty"` // empty: all tools together
	Limit  tool.RateLimit `json:"limit"`
	Full   int64          `json:"full"` // when it will be full, in Unix nanoseconds
}

// take takes a token of a caller, as [buckets.take] does.
func (f *rateFile) take(caller string, b *buckets, now time.Time) (wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.open()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.path, err)
	}
	defer func() {
		// A process that is being started may have the descriptor for a moment longer.
		_ = safefile.Unlock(file)
		_ = file.Close()
	}()
	all, err := readRates(file)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.path, err)
	}
	at := now.UnixNano()
	own := rateEntry{Caller: caller, Tool: b.of, Limit: b.limit, Full: at}
	kept := make([]rateEntry, 0, len(all)+1)
	for _, e := range all {
		switch {
		case e.Caller == own.Caller && e.Tool == own.Tool && e.Limit == own.Limit:
			// A clock that was set back does not make callers wait longer than for an empty bucket.
			own.Full = min(max(e.Full, at), at+int64(b.slack+b.every))
		case e.Full > at:
			kept = append(kept, e)
		}
	}
	if wait := time.Duration(own.Full-at) - b.slack; wait > 0 {
		return wait, nil
	}
	own.Full += int64(b.every)
	if err := writeRates(file, append(kept, own)); err != nil {
		return 0, fmt.Errorf("%s: %w", f.path, err)
	}
	return 0, nil
}

// open opens the file, made if it is missing, and locks it.
func (f *rateFile) open() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	file, info, err := safefile.Open(f.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if !safefile.Ours(info) || safefile.OthersMayWrite(info) {
		err = errors.New("other users may write it")
	} else {
		err = safefile.Lock(file, safefile.Exclusive, time.Now().Add(rateLockTime))
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func readRates(file *os.File) (all []rateEntry, err error) {
	text, err := io.ReadAll(io.LimitReader(file, maxRateFile+1))
	if err != nil || len(text) > maxRateFile || json.Unmarshal(text, &all) != nil {
		return nil, err
	}
	return all, nil
}

func writeRates(file *os.File, all []rateEntry) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if len(text) > maxRateFile {
		return fmt.Errorf("it would have %d bytes, more than %d", len(text), maxRateFile)
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(text)))
}
