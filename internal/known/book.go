// Package known is what toolhost knows of each plugin from one run to the next: one record a plugin,
// in one file for all, as who had a name first is a fact between plugins. Begin with [Open].
package known

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/state"
)

// FileName is the name of the book in a directory for state.
const FileName = "plugins.json"

// maxSize bounds the file, in bytes: it has the names of all tools.
const maxSize = 16 << 20

// Book has the records. It is safe for concurrent use, by several processes too, and what it
// knows in this process counts though it cannot be written.
type Book struct {
	file  state.File[Records]
	known atomic.Pointer[snapshot] // never changed, but replaced

	writing   sync.Mutex  // held while the file is read or written
	seen      fs.FileInfo // of the file that was read last; nil: none
	unwritten []func(Records)
}

// snapshot is what is known at one moment.
type snapshot struct {
	all     Records
	holders func() map[string][]Plugin // by names of tools
}

func (b *Book) set(all Records) { b.known.Store(&snapshot{all, sync.OnceValue(all.holders)}) }

// maxUnwritten is how many changes wait until they can be written, the newest.
const maxUnwritten = 100

// Open reads the book of a directory, which need not exist; empty: it is kept in memory only.
//
// # Errors
//
// Those of [state.File.Read]: a book that cannot be read is not written either.
func Open(dir string) (*Book, error) {
	b := &Book{}
	if dir != "" {
		b.file = state.File[Records]{Path: filepath.Join(dir, FileName), Max: maxSize}
	}
	b.set(Records{})
	return b, b.Reload()
}

// OpenOwn opens the book of the user's state directory.
//
// # Errors
//
// Those of [state.Dir] and [Open].
func OpenOwn() (*Book, error) {
	dir, err := state.Dir()
	if err != nil {
		return nil, err
	}
	return Open(dir)
}

// Reload reads what other processes have written. What was known stays if that fails.
//
// # Errors
//
// Those of [state.File.Read].
func (b *Book) Reload() error {
	if b.file.Path == "" {
		return nil
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	now, err := os.Stat(b.file.Path)
	if err == nil && isAs(b.seen, now) {
		return nil
	}
	r, err := b.read(now)
	if err == nil {
		r = r.clone()
		b.catchUp(r)
		b.set(r)
		if b.seen = nil; isSettled(now) {
			b.seen = now
		}
	}
	return err
}

// newest is what a book of this process read last: a command opens several of the same file.
var newest atomic.Pointer[content]

type content struct {
	path string
	info fs.FileInfo
	all  Records // never changed
}

// read returns what the file has, which was as now before: nil, if there was none.
func (b *Book) read(now fs.FileInfo) (Records, error) {
	if c := newest.Load(); c != nil && c.path == b.file.Path && isAs(c.info, now) {
		return c.all, nil
	}
	r, err := b.file.Read()
	if err == nil && isSettled(now) {
		newest.Store(&content{b.file.Path, now, r})
	}
	return r, err
}

// isSettled reports whether what the system says of a file would show that it was replaced since: file systems give the number
// of a removed file to the next one, and times are those of a clock that ticks every few milliseconds.
func isSettled(info fs.FileInfo) bool { return info != nil && time.Since(info.ModTime()) > time.Second }

// isAs reports whether a file was not replaced or written since, by what the system says of it.
func isAs(before, now fs.FileInfo) bool {
	return before != nil && now != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size() &&
		before.Mode() == now.Mode()
}

// catchUp makes the changes that could not be written.
func (b *Book) catchUp(r Records) {
	for _, change := range b.unwritten {
		change(r)
	}
}

// All returns what is known. It is not to be changed.
func (b *Book) All() Records { return b.known.Load().all }

// Of returns what is known of a plugin.
func (b *Book) Of(p Plugin) Record { return b.All().Of(p) }

// Holders returns the plugins that have had a tool of a name, or one of [Record.Offers].
func (b *Book) Holders(name string) []Plugin { return b.known.Load().holders()[name] }

// Note makes a change that follows from what plugins did. It is not written if what is known, and
// written, says the same already.
//
// # Errors
//
// Those of [state.File.Update].
func (b *Book) Note(change func(Records)) error { return b.update(false, change) }

// Decide makes a change that the operator has decided.
//
// # Errors
//
// Those of [state.File.Update].
func (b *Book) Decide(change func(Records)) error { return b.update(true, change) }

func (b *Book) update(must bool, change func(Records)) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	before := b.All()
	next := before.clone()
	if change(next); !must && len(b.unwritten) == 0 && reflect.DeepEqual(next, before) {
		return nil
	}
	b.set(next)
	if b.file.Path == "" {
		return nil
	}
	err := b.write(func(r Records) error {
		change(r)
		return nil
	})
	if err != nil {
		b.unwritten = append(b.unwritten, change)
		b.unwritten = b.unwritten[max(0, len(b.unwritten)-maxUnwritten):]
	}
	return err
}

// Write makes a change, while no other process makes one, unless it returns an error or cannot be
// written.
//
// # Errors
//
// That of change; those of [state.File.Update].
func (b *Book) Write(change func(Records) error) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.write(change)
}

func (b *Book) write(change func(Records) error) error {
	var next Records
	err := b.file.Update(func(r *Records) error {
		next = r.clone()
		b.catchUp(next)
		if err := change(next); err != nil {
			return err
		}
		next.forgetMissing()
		if len(next) > 0 || *r != nil { // else there is no file yet, and need not be one
			*r = next
		}
		return nil
	})
	if err == nil {
		b.set(next)
		b.unwritten = nil
	}
	return err
}
