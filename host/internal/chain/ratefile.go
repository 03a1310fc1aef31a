package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// again. It stays open, and is read as JSON only if another process has written it: opening and
// decoding it for each call took longer than all else that the call did.
type rateFile struct {
	path string

	mu   sync.Mutex // the lock of the file keeps other processes out, not this one's calls
	file *os.File   // nil: it is not open
	info fs.FileInfo
	text []byte      // what was read or written last
	all  []rateEntry // the same, decoded
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
	defer func() {
		if err != nil {
			f.close()
			err = fmt.Errorf("%s: %w", f.path, err)
		}
	}()
	size, err := f.lock()
	if err != nil {
		return 0, err
	}
	// A process that is being started may have the descriptor for a moment longer.
	defer func() { _ = safefile.Unlock(f.file) }()
	if err := f.read(size); err != nil {
		return 0, err
	}
	at := now.UnixNano()
	own := rateEntry{Caller: caller, Tool: b.of, Limit: b.limit, Full: at}
	kept := make([]rateEntry, 0, len(f.all)+1)
	for _, e := range f.all {
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
	return 0, f.write(append(kept, own), size)
}

// maxReplaced is how often the file may be another one when it is locked.
const maxReplaced = 8

// lock locks the file, which it opens or makes if need be, and returns its size.
func (f *rateFile) lock() (size int64, err error) {
	for range maxReplaced {
		if f.file == nil {
			if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
				return 0, err
			}
			if f.file, f.info, err = safefile.Open(f.path, os.O_RDWR|os.O_CREATE); err != nil {
				return 0, err
			}
		}
		err := safefile.Lock(f.file, safefile.Exclusive, time.Now().Add(rateLockTime))
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return 0, err
		}
		there, err := os.Lstat(f.path)
		switch {
		case err == nil && os.SameFile(there, f.info):
			if !safefile.Ours(there) || safefile.OthersMayWrite(there) {
				return 0, errors.New("other users may write it")
			}
			return there.Size(), nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
		f.close() // it was removed or replaced
	}
	return 0, errors.New("it is replaced again and again")
}

// close closes the file, and with it the lock. The next call opens it again.
func (f *rateFile) close() {
	if f.file != nil {
		_ = safefile.Unlock(f.file)
		_ = f.file.Close()
	}
	f.file, f.info, f.text, f.all = nil, nil, nil, nil
}

// read reads the buckets. A damaged file has none.
func (f *rateFile) read(size int64) error {
	text := make([]byte, min(size, maxRateFile+1))
	n, err := f.file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if text = text[:n]; bytes.Equal(text, f.text) {
		return nil
	}
	f.text, f.all = text, nil
	if len(text) > maxRateFile || json.Unmarshal(text, &f.all) != nil {
		f.all = nil
	}
	return nil
}

// write writes the buckets over what the file had.
func (f *rateFile) write(all []rateEntry, size int64) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if len(text) > maxRateFile {
		return fmt.Errorf("it would have %d bytes, more than %d", len(text), maxRateFile)
	}
	if _, err := f.file.WriteAt(text, 0); err != nil {
		return err
	}
	f.text, f.all = text, all
	if int64(len(text)) < size {
		return f.file.Truncate(int64(len(text)))
	}
	return nil
}
