package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Options of a [File]. The zero value is fine.
type Options struct {
	// MaxSize is how large a file grows, in bytes, before the next line goes into a new one.
	// 0: 64 MiB; below zero: no limit.
	MaxSize int64
	// Keep is the number of files besides the current one; older ones are deleted. 0: 8;
	// below zero: all are kept.
	Keep int
	// MaxAge is how long lines are kept. A file whose last line is older is deleted, and a new
	// file is begun each quarter of that time, so a line may be there a quarter longer; what is
	// due is done with the next line. 0: any time.
	MaxAge time.Duration
	// Head is a file in which the newest line is remembered, see [HeadPath]: it shows that lines
	// were cut off at the end of the log, or that the log was removed. The log then continues
	// after the line that is remembered. Default: none.
	Head string
	// Warn is called with a sentence when lines begin to wait in memory because another
	// process keeps the log locked, and when they are written. It is called by any goroutine
	// and must not write to the log. Default: none.
	Warn func(string)
	// Waits is called when another number of lines waits in memory. Meanwhile no line is written. Default: none.
	Waits func(lines int)
}

const (
	defaultMaxSize = 64 << 20
	defaultKeep    = 8
)

// lockTimeout bounds the wait for other writers. Each holds the lock for microseconds, unless
// it was stopped in the middle. Only one call waits: after that, a locked log is only tried,
// until it could be locked again.
const lockTimeout = 2 * time.Second

// File is a [Sink] on disk. It is safe for concurrent use, and other processes
// may write the same file.
type File struct {
	path string
	opts Options

	mu         sync.Mutex
	closed     bool
	lockFile   lockFile
	stuck      bool        // waiting for the lock timed out, and it was not acquired since
	waiting    queue       // lines that could not be written for that reason
	retry      *time.Timer // writes them; nil: not needed yet
	at         *handle     // nil: the file is not open
	looked     time.Time   // when it was found at its path
	generation int64       // as the lock file said then
	lines      []byte      // scratch
	bodies     [][]byte    // scratch
	// syncs counts the syncs outside of mu; the file is not closed during one.
	syncs sync.WaitGroup

	// What is known of the log's end.
	last    link  // the last line
	size    int64 // of the file; below zero: nothing is known
	torn    sum   // digest of a piece of a line after the last one
	unended bool  // the last line, or that piece, has no newline
	// What a new file's first line says about the files before it.
	oldest   uint64
	obsolete []string // files to delete once it is written

	began time.Time // time of the file's first line; zero: not known
	head  headFile
	ends  bool // Close remembers the newest line
	cut   bool // the log ends before the line that was remembered

	joining sync.Mutex // held for a moment, also with mu
	joined  []*pending // which whoever has mu next writes
	spare   []*pending // the array of those before
	several bool       // those before were several
	joins   int        // counts lines

	// Replaced by tests.
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

// Open opens a log, or begins one. The file, and its lock file (its name and ".lock"), have
// mode 0600; missing directories are made with mode 0700. If another process keeps the log
// locked, Open returns after 2 s, and lines are written once it is free.
//
// # Errors
//
// [*tool.Error] for a path that cannot be written or is a symbolic link, a FIFO or a
// device.
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
	if o.Waits == nil {
		o.Waits = func(int) {}
	}
	f := &File{
		path: path, opts: o, size: -1, lockFile: lockFile{path: path + lockSuffix},
		writeAt: (*os.File).WriteAt, sync: syncFile, lockTimeout: lockTimeout,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recall()
	// Before the lock file, which is not made next to a path that cannot be a log.
	if err = f.open(); err == nil {
		_, err = f.append(nil, time.Now().Add(f.lockTimeout))
	}
	if err != nil && !f.stuck {
		_ = f.closeFile()
		f.lockFile.close()
		return nil, failed(path, "opened", err)
	}
	if f.cut {
		f.opts.Warn(fmt.Sprintf("the audit log %s has lost lines at its end, "+
			"and continues after line %d, which was the newest; %s", f.path, f.head.last, remedy.AuditCut))
	}
	return f, nil
}

// recall continues after the line that is remembered as the newest, if the log ends before it.
func (f *File) recall() {
	f.head = headFile{path: f.opts.Head, log: f.path}
	if f.opts.Head == "" {
		return
	}
	h, err := ReadHead(f.opts.Head)
	if err != nil {
		f.opts.Warn(err.Error())
		return
	}
	f.last, _ = h.link()
	f.head.last = h.Seq
}

// DefaultPath returns the path of a user's log: toolhost/audit.jsonl in the directory for
// state. That is $XDG_STATE_HOME if set, else ~/.local/state, on macOS ~/Library/Application
// Support. For a system service without a home it is in $LOGS_DIRECTORY, else $STATE_DIRECTORY.
//
// # Errors
//
// A plain error if the system does not say where the user's home is.
func DefaultPath() (string, error) {
	dir, err := state.Dir()
	if logs := state.OfService("LOGS_DIRECTORY"); logs != "" && !filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) {
		return filepath.Join(logs, "audit.jsonl"), nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "audit.jsonl"), nil
}

// pending is a line on its way to a file. What is below is guarded by the log's mu.
type pending struct {
	call string // whose it is
	ends bool   // the call
	body []byte

	over bool  // it is written, waits, or cannot be written
	err  error // why it cannot
}

var pendings = sync.Pool{New: func() any { return new(pending) }}

// tryOthers is how often, in lines, one that came alone lets others come with it.
const tryOthers = 16

// Write appends a record. A [Begin] or [Admin] is on disk when Write returns; an [End] is written,
// and is on disk when the system syncs it.
//
// While another process keeps the log locked, End lines wait in memory: at most 1,024 lines
// and 1 MiB. They are written in order once the lock is free, at the latest by Close, and
// [Options].Warn is called. The first Begin waits for 2 s; others fail at once.
//
// After an error the log is as whole as before, and the next Write tries again. Only if
// syncing a line failed may that line be there.
//
// # Errors
//
// [tool.CodeResourceExhausted] if the disk is full; [tool.CodeUnavailable] after Close;
// else [tool.CodeInternal].
func (f *File) Write(r Record) error {
	l := pendings.Get().(*pending) //nolint:forcetypeassert // nothing else is in there
	defer pendings.Put(l)
	*l = pending{call: r.Call, ends: r.Event == End, body: appendRecord(l.body[:0], &r)}
	now := time.Now()
	if l.ends {
		f.join(l)
	}
	f.mu.Lock()
	before := len(f.waiting.lines)
	if !l.over {
		all := []*pending{l}
		if l.ends {
			all = f.takeJoined()
		}
		f.finish(all, now.Add(f.lockTimeout)) // waiting for the mutex counts as waiting for the lock
	}
	after, at := f.tellWaiting(before), f.at
	if after > 0 {
		f.scheduleRetry()
	}
	err := l.err
	durable := err == nil && !l.ends
	if durable { // others may append meanwhile; their lines are synced with this one
		f.syncs.Add(1)
		defer f.syncs.Done()
	}
	f.mu.Unlock()
	f.warn(before, after)
	if durable {
		if err = f.makeDurable(at); err != nil {
			err = failed(f.path, "put on disk", err)
		}
	}
	return err
}

// join adds a line to those that are written next, together: a lock and a write take as long for one as for many.
func (f *File) join(l *pending) {
	f.joining.Lock()
	f.joined = append(f.joined, l)
	f.joins++
	several := f.several || f.joins%tryOthers == 0
	f.joining.Unlock()
	if several {
		runtime.Gosched()
	}
}

// takeJoined returns the lines that have joined. The caller holds mu, and finishes them.
func (f *File) takeJoined() []*pending {
	f.joining.Lock()
	defer f.joining.Unlock()
	all := f.joined
	f.joined, f.spare, f.several = f.spare[:0], all, len(all) > 1
	return all
}

// finish writes lines. The last lines of calls are kept while the log is locked. The caller holds mu.
func (f *File) finish(all []*pending, deadline time.Time) {
	if f.closed {
		for _, l := range all {
			l.over, l.err = true, tool.Errorf(tool.CodeUnavailable, "the audit log %s is closed", f.path).Because(os.ErrClosed)
		}
		return
	}
	f.bodies = f.bodies[:0]
	for _, l := range all {
		f.bodies = append(f.bodies, l.body)
	}
	n, err := f.append(f.bodies, deadline)
	for i, l := range all {
		l.over = true
		if i < n {
			continue
		}
		if len(all)-n > 1 { // it may have failed because of another
			_, err = f.append(f.bodies[i:i+1], deadline)
		}
		kept := err != nil && f.stuck && l.ends && f.waiting.add(l.call, l.body)
		if err != nil && !kept {
			l.err = failed(f.path, "written", err)
		}
	}
}

// tellWaiting returns how many lines wait, and tells that if it has changed. The caller holds mu.
func (f *File) tellWaiting(before int) int {
	now := len(f.waiting.lines)
	if now != before {
		f.opts.Waits(now)
	}
	return now
}

// warn reports that lines begin to wait, or that none waits any more. Mu is not held.
func (f *File) warn(before, after int) {
	switch {
	case before == 0 && after > 0:
		f.opts.Warn(fmt.Sprintf("the audit log %s waits: %v; the end lines of calls are kept in memory (%s)",
			f.path, safefile.ErrLocked, lockedHint(f.path)))
	case before > 0 && after == 0:
		f.opts.Warn(fmt.Sprintf("the audit log %s is written again, with the %d lines that waited", f.path, before))
	}
}

// scheduleRetry makes sure that queued lines are written even if no call comes. The caller
// holds mu.
func (f *File) scheduleRetry() {
	if f.retry == nil {
		f.retry = time.AfterFunc(retryPause, f.retryQueued)
	} else {
		f.retry.Reset(retryPause)
	}
}

// retryQueued writes the queued lines.
func (f *File) retryQueued() {
	f.mu.Lock()
	before := len(f.waiting.lines)
	if f.closed || before == 0 {
		f.mu.Unlock()
		return
	}
	_, _ = f.append(nil, time.Time{}) // what cannot be written yet stays queued
	after := f.tellWaiting(before)
	if after > 0 {
		f.scheduleRetry()
	}
	f.mu.Unlock()
	f.warn(before, after)
}

// makeDurable syncs the file and its name.
func (f *File) makeDurable(at *handle) error {
	if err := f.sync(at.File); err != nil {
		return err
	}
	if at.named.Load() {
		return nil
	}
	// The process that made the file may not have synced its name yet.
	if err := safefile.SyncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	at.named.Store(true)
	return nil
}

// Close writes the queued lines and closes the file. It waits 2 s for a log that is locked.
// Closing again does nothing.
//
// # Errors
//
// One that names the calls whose end lines could not be written.
func (f *File) Close() error {
	deadline := time.Now().Add(f.lockTimeout)
	f.mu.Lock()
	before, lost := len(f.waiting.lines), error(nil)
	if f.retry != nil { // it would wait until Close has written what there is
		f.retry.Stop()
	}
	f.ends = true
	if before == 0 && !f.closed && f.last.seq > f.head.last && f.head.path != "" {
		_, _ = f.append(nil, deadline)
	}
	if before > 0 {
		f.stuck = false
		if _, err := f.append(nil, deadline); err != nil {
			e := *tool.AsError(failed(f.path, "written", err))
			e.Message = fmt.Sprintf("the end lines of calls %s are lost: %s", f.waiting.calls(), e.Message)
			lost = &e
			f.waiting = queue{}
		}
	}
	f.closed = true
	err := f.closeFile()
	f.lockFile.close()
	f.mu.Unlock()
	if lost == nil {
		f.warn(before, 0)
	}
	return errors.Join(lost, err)
}

// closeFile closes the file when no sync uses it.
func (f *File) closeFile() error {
	if f.at == nil {
		return nil
	}
	f.syncs.Wait()
	err := f.at.Close()
	f.at, f.size = nil, -1
	return err
}
