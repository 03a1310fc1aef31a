package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/state"
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
	// Warn is told, in a sentence, that lines begin to wait in memory as another
	// process keeps the log locked, and what became of them. It is called by any
	// goroutine and must not write to the log. Nil: nobody is told.
	Warn func(string)
}

const (
	defaultMaxSize = 64 << 20
	defaultKeep    = 8
)

// lockTimeout bounds the wait for others who write to the log. Each holds it
// for microseconds, unless it was stopped in the middle. It is waited once: after
// that a log that is locked is only tried, until it could be locked again.
const lockTimeout = 2 * time.Second

// File is a [Sink] on disk. It is safe for concurrent use, and other processes
// may write the same file.
type File struct {
	path string
	opts Options

	mu      sync.Mutex
	closed  bool
	gate    lockFile
	stuck   bool        // the wait for the lock was in vain, and it was not had since
	waiting queue       // lines that could not be written for that
	retry   *time.Timer // of them; nil: none was needed yet
	at      *handle     // nil: the file is not open
	line    []byte      // scratch
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
	id    identity
	named atomic.Bool // its name is on disk
}

// Open opens a log, or begins one. The file, and the lock file beside it (its name
// and ".lock"), have mode 0600; directories that are missing are made with mode
// 0700. A log that another process keeps locked is opened all the same, after 2 s,
// and written when it is free.
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
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	f := &File{
		path: path, opts: o, size: -1, gate: lockFile{path: path + lockSuffix},
		writeAt: (*os.File).WriteAt, sync: syncFile, lockTimeout: lockTimeout,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// No lock file is made beside what cannot be a log.
	if err = f.open(); err == nil {
		err = f.append(nil, time.Now().Add(f.lockTimeout))
	}
	if err != nil && !f.stuck {
		_ = f.retire()
		f.gate.close()
		return nil, failed(path, "opened", err)
	}
	return f, nil
}

// DefaultPath is where a user's log is: audit.jsonl in toolhost/ in the
// directory for state. That is $XDG_STATE_HOME where it is set, else
// ~/.local/state, on macOS ~/Library/Application Support, on Windows
// %LocalAppData%.
//
// # Errors
//
// One where the system does not say where the user's home is.
func DefaultPath() (string, error) {
	dir, err := state.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "audit.jsonl"), nil
}

// bodies are buffers for lines on their way to a file.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// Write appends a record. A [Begin] is on disk when Write returns, any other
// soon after, when the system likes.
//
// While another process keeps the log locked, an [End] waits in memory: at most
// 1,024 lines of 1 MiB together. They are written, in their order, when the lock is
// free, by Close at the latest, and [Options].Warn is told. A Begin fails at once
// then, but for the first, which waits 2 s.
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
	before := len(f.waiting.lines)
	err := f.append(*body, deadline)
	if f.stuck && r.Event != Begin && f.waiting.add(r.Call, *body) {
		err = nil
	}
	after := len(f.waiting.lines)
	if err != nil || r.Event != Begin {
		if after > 0 {
			f.retrySoon()
		}
		f.mu.Unlock()
		f.warn(before, after)
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
	f.warn(before, after)
	if err := f.settle(at); err != nil {
		return failed(f.path, "put on disk", err)
	}
	return nil
}

// warn tells when lines begin to wait, and when none waits any more. Mu is not
// held.
func (f *File) warn(before, after int) {
	switch {
	case before == 0 && after > 0:
		f.opts.Warn(fmt.Sprintf("the audit log %s waits: %v; the end lines of calls are kept in memory (%s)",
			f.path, safefile.ErrLocked, lockedHint(f.path)))
	case before > 0 && after == 0:
		f.opts.Warn(fmt.Sprintf("the audit log %s is written again, with the %d lines that waited", f.path, before))
	}
}

// retrySoon makes sure that lines which wait are written though no call comes.
// The caller holds mu.
func (f *File) retrySoon() {
	if f.retry == nil {
		f.retry = time.AfterFunc(retryPause, f.tryAgain)
	} else {
		f.retry.Reset(retryPause)
	}
}

// tryAgain writes the lines that wait.
func (f *File) tryAgain() {
	f.mu.Lock()
	before := len(f.waiting.lines)
	if f.closed || before == 0 {
		f.mu.Unlock()
		return
	}
	_ = f.append(nil, time.Time{}) // what cannot be written yet waits on
	after := len(f.waiting.lines)
	if after > 0 {
		f.retrySoon()
	}
	f.mu.Unlock()
	f.warn(before, after)
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
	if err := safefile.SyncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	at.named.Store(true)
	return nil
}

// Close writes the lines that wait and ends the use of the file. It waits 2 s for
// a log that is locked. Closing twice is fine.
//
// # Errors
//
// One that names the calls whose end lines could not be written.
func (f *File) Close() error {
	deadline := time.Now().Add(f.lockTimeout)
	f.mu.Lock()
	before, lost := len(f.waiting.lines), error(nil)
	if before > 0 {
		f.stuck = false
		if err := f.append(nil, deadline); err != nil {
			e := *tool.AsError(failed(f.path, "written", err))
			e.Message = fmt.Sprintf("the end lines of calls %s are lost: %s", f.waiting.calls(), e.Message)
			lost = &e
			f.waiting = queue{}
		}
	}
	if f.retry != nil {
		f.retry.Stop()
	}
	f.closed = true
	err := f.retire()
	f.gate.close()
	f.mu.Unlock()
	if lost == nil {
		f.warn(before, 0)
	}
	return errors.Join(lost, err)
}

// retire closes the file, once nobody needs it. The lock that it shares ends with
// it.
func (f *File) retire() error {
	if f.at == nil {
		return nil
	}
	f.syncs.Wait()
	err := f.at.Close()
	f.at, f.size = nil, -1
	return err
}
