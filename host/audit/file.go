package audit

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Options of a [File]. The zero value is fine.
type Options struct {
	// MaxSize is how large a file grows, in bytes, before the next line goes
	// into a new one; 0: 64 MiB; below zero: no limit.
	MaxSize int64
	// Keep is how many files there are besides the one that is written; older
	// ones are deleted. 0: 8; below zero: all are kept.
	Keep int
}

const (
	defaultMaxSize = 64 << 20
	defaultKeep    = 8
)

// lockTimeout bounds the wait for others who write to the log. Each holds it
// for microseconds, unless it was stopped in the middle.
const lockTimeout = 10 * time.Second

// File is a [Sink] on disk. It is safe for concurrent use, and other processes
// may write the same file.
type File struct {
	path string
	opts Options

	mu     sync.Mutex
	closed bool
	at     *handle // nil: the file is not open
	line   []byte  // scratch
	// syncs counts those that put lines on disk outside of mu: while one does,
	// nobody closes the file.
	syncs sync.WaitGroup

	// What is known of the log's end.
	last    link  // the last line
	size    int64 // of the file; below zero: nothing is known
	torn    sum   // of a piece of a line behind the last one
	unended bool  // there is no newline behind the last line, or that piece
	// What a new file's first line says of those before it.
	oldest  uint64
	victims []string // files to be deleted when it is written

	// For tests: what the disk does, and how long others may hold the lock.
	writeAt     func(*os.File, []byte, int64) (int, error)
	sync        func(*os.File) error
	lockTimeout time.Duration
}

// handle is an open file.
type handle struct {
	*os.File
	named atomic.Bool // its name is on disk
}

// Open opens a log, or begins one. The file has mode 0600; directories that are
// missing are made with mode 0700.
//
// # Errors
//
// An [*tool.Error] for a path that cannot be written or is a symbolic link, a
// FIFO or a device.
func Open(path string, o Options) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(path, "opened", err)
	}
	if o.MaxSize == 0 {
		o.MaxSize = defaultMaxSize
	}
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	f := &File{
		path: path, opts: o, size: -1,
		writeAt: (*os.File).WriteAt, sync: syncFile, lockTimeout: lockTimeout,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	size, err := f.acquire(time.Now().Add(f.lockTimeout))
	if err == nil {
		err = f.catchUp(size)
		f.release()
	}
	if err != nil {
		_ = f.retire()
		return nil, failed(path, "opened", err)
	}
	return f, nil
}

// bodies are buffers for lines on their way to a file.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// Write appends a record. A [Begin] is on disk when Write returns, any other
// soon after, when the system likes.
//
// After an error the log is as whole as before, and the next Write tries again.
// Only where putting a line on disk failed may that line be there.
//
// # Errors
//
// [tool.CodeResourceExhausted] where the disk is full; [tool.CodeUnavailable]
// after Close; else [tool.CodeInternal].
func (f *File) Write(r Record) error {
	body := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	*body = appendRecord((*body)[:0], &r)
	// Who had to wait for the mutex has waited for the lock.
	deadline := time.Now().Add(f.lockTimeout)

	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return &tool.Error{Code: tool.CodeUnavailable, Message: "the audit log " + f.path + " is closed", Err: os.ErrClosed}
	}
	err := f.append(*body, deadline)
	if err != nil || r.Event != Begin {
		f.mu.Unlock()
		if err != nil {
			return failed(f.path, "written", err)
		}
		return nil
	}
	// Others may append meanwhile, and have their lines put on disk with ours.
	at := f.at
	f.syncs.Add(1)
	f.mu.Unlock()
	defer f.syncs.Done()
	if err := f.settle(at); err != nil {
		return failed(f.path, "put on disk", err)
	}
	return nil
}

// settle returns when all that is in the file is on disk, its name included.
func (f *File) settle(at *handle) error {
	if err := f.sync(at.File); err != nil {
		return err
	}
	if at.named.Load() {
		return nil
	}
	// Whoever made the file may not have come so far.
	if err := syncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	at.named.Store(true)
	return nil
}

// Close ends the use of the file. Closing twice is fine.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.retire()
}

// retire closes the file, once nobody needs it. The lock ends with it.
func (f *File) retire() error {
	if f.at == nil {
		return nil
	}
	f.syncs.Wait()
	err := f.at.Close()
	f.at, f.size = nil, -1
	return err
}
