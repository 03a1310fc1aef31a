// Package accepted remembers which needs of plugins the operator has accepted: those with
// which a plugin first ran, until the operator accepts others. Begin with [Open].
package accepted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// FileName is the name of the book in the user's state directory.
const FileName = "needs.json"

// Plugin is a plugin of a directory, an absolute path without links. See [At].
type Plugin struct{ Dir, Name string }

// At returns the plugin of a file, whatever way leads to its directory.
func At(path, name string) Plugin {
	dir := filepath.Dir(path)
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	return Plugin{dir, name}
}

// Book has what was accepted. It is safe for concurrent use, by several processes too, and
// what it knows in this process counts though it cannot be written.
type Book struct {
	file  state.File[record]
	known atomic.Pointer[record] // never changed, but replaced

	writing   sync.Mutex // held while the file is read or written
	unwritten bool       // something that is known could not be written
}

// record has needs by directory and plugin; nil: the plugin ran undeclared.
type record map[string]map[string]*tool.Needs

// UnmarshalJSON refuses needs that no plugin can declare: they cannot be compared.
func (r *record) UnmarshalJSON(text []byte) error {
	var all map[string]map[string]*tool.Needs
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for dir, plugins := range all {
		for name, n := range plugins {
			if err := n.Check(); err != nil {
				return fmt.Errorf("plugin %.100q of %.300q: %w", name, dir, err)
			}
			plugins[name] = n.Normal()
		}
	}
	*r = all
	return nil
}

// maxDirs is how many directories are remembered, unless they all exist.
const maxDirs = 1000

// Open reads the book at a path, which need not exist; empty: it is kept in memory only.
//
// # Errors
//
// Those of [state.File.Read]: a book that cannot be read is not written either.
func Open(path string) (*Book, error) {
	b := &Book{file: state.File[record]{Path: path}}
	b.known.Store(&record{})
	return b, b.Reload()
}

// Reload reads what other processes have written. What was known stays so if that fails, or if
// something of it could not be written.
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
	r, err := b.file.Read()
	if err == nil && !b.unwritten {
		b.known.Store(&r)
	}
	return err
}

// Needs returns what was accepted of a plugin's needs; nil: it ran undeclared; false: it has
// never run.
func (b *Book) Needs(p Plugin) (n *tool.Needs, known bool) {
	n, known = (*b.known.Load())[p.Dir][p.Name]
	return n, known
}

// Ran notes with which needs plugins run. What is known of one already stays, but one that
// ran undeclared and declares its needs now is held to that.
//
// # Errors
//
// Those of [state.File.Update].
func (b *Book) Ran(all map[Plugin]*tool.Needs) error {
	return b.update(false, func(r record) {
		for p, n := range all {
			if before, known := r[p.Dir][p.Name]; !known || before == nil {
				r.set(p, n)
			}
		}
	})
}

// Accept notes what the operator has accepted of the needs of plugins, in place of what was
// known.
//
// # Errors
//
// Those of [state.File.Update].
func (b *Book) Accept(all map[Plugin]*tool.Needs) error {
	return b.update(true, func(r record) {
		for p, n := range all {
			r.set(p, n)
		}
	})
}

// update makes a change, and writes it if it changes anything, something is not written yet, or
// it has to be.
func (b *Book) update(has bool, change func(record)) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	known := b.known.Load()
	next := known.clone()
	change(next)
	if !has && !b.unwritten && reflect.DeepEqual(next, known.clone()) {
		return nil
	}
	b.known.Store(&next)
	if b.file.Path == "" {
		return nil
	}
	err := b.file.Update(func(r *record) error {
		now := r.clone()
		if b.unwritten {
			now.add(*known)
		}
		change(now)
		now.forgetMissing()
		*r = now
		b.known.Store(&now)
		return nil
	})
	b.unwritten = err != nil
	return err
}

// add adds what is known of plugins of which nothing is.
func (r record) add(others record) {
	for dir, plugins := range others {
		for name, n := range plugins {
			if _, known := r[dir][name]; !known {
				r.set(Plugin{dir, name}, n)
			}
		}
	}
}

func (r record) set(p Plugin, n *tool.Needs) {
	if r[p.Dir] == nil {
		r[p.Dir] = map[string]*tool.Needs{}
	}
	r[p.Dir][p.Name] = n.Normal()
}

// clone shares the needs, which are never changed.
func (r record) clone() record {
	out := record{}
	for dir, plugins := range r {
		out[dir] = maps.Clone(plugins)
	}
	return out
}

// forgetMissing forgets directories that do not exist, if there are many. Others that do not
// exist now may come back.
func (r record) forgetMissing() {
	if len(r) <= maxDirs {
		return
	}
	for dir := range r {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			delete(r, dir)
		}
	}
}
