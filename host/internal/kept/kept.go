// Package kept keeps copies of the plugin binaries that served last, so that one of them can
// serve when a newer file cannot, or when the operator goes back to it. Begin with [Open].
//
//	DIR/toolhost-binaries/CACHEDIR.TAG  says that toolhost made the directory
//	DIR/toolhost-binaries/index.json    which binaries of which plugin there are
//	DIR/toolhost-binaries/SHA256        a binary, named for its digest
//
// The directory is private. A name proves nothing: whoever runs a copy compares its digest
// with the index while the copy is read for the last time. Of each plugin the last
// [PerPlugin] binaries are kept, and of all no more than 1 GiB.
package kept

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/internal/sealed"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/state"
)

// PerPlugin is how many binaries of one plugin are kept.
const PerPlugin = plugin.KeptBinaries

// Bounds of the sizes, in bytes, and of how long a plugin is remembered that is gone.
const (
	maxSize  = 256 << 20
	maxBytes = 1 << 30
	maxAge   = 90 * 24 * time.Hour
)

const (
	directoryName = "toolhost-binaries"
	indexName     = "index.json"
)

// Binary is a kept copy.
type Binary struct {
	SHA256  string    `json:"sha256"` // lower-case hexadecimal
	Version string    `json:"version,omitempty"`
	Size    int64     `json:"size"`
	Served  time.Time `json:"served"` // when it began to serve last
}

// Rollback says that the operator went back to a kept binary.
type Rollback struct {
	From string `json:"from"` // digest of the file that it serves in place of
	To   string `json:"to"`
}

// entry is what is known of a plugin, by the path of its file.
type entry struct {
	Binaries []Binary  `json:"binaries"` // the newest first
	Rollback *Rollback `json:"rollback,omitempty"`
}

type index map[string]entry

// Store is the directory. It is safe for concurrent use, by several processes too.
type Store struct {
	dir  *marked.Dir
	file state.File[index]

	mu    sync.Mutex
	known index
	stamp manifest.Stamp // of the index when it was known
}

// Open opens the store in a directory.
//
// # Errors
//
// Those of [marked.Open].
func Open(dir string) (*Store, error) {
	own, err := marked.Open(dir, directoryName)
	if err != nil {
		return nil, err
	}
	return &Store{dir: own, file: state.File[index]{Path: filepath.Join(own.Path(), indexName)}}, nil
}

// Close closes the directory.
func (s *Store) Close() error { return s.dir.Close() }

// Path returns where the binary of a digest is, if it is there.
func (s *Store) Path(sha256 string) string { return filepath.Join(s.dir.Path(), sha256) }

// entry returns what is known of a plugin. An index that cannot be read knows nothing.
func (s *Store) entry(path string) entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := manifest.StampOf(s.file.Path)
	if s.known == nil || now != s.stamp {
		s.known, _ = s.file.Read()
		s.stamp = now
	}
	return s.known[path]
}

// Of returns the binaries of a plugin that are there, the newest first.
func (s *Store) Of(path string) []Binary {
	return slices.DeleteFunc(slices.Clone(s.entry(path).Binaries), func(b Binary) bool { return !s.has(b) })
}

// has reports whether the copy of a binary is there, as far as its size tells.
func (s *Store) has(b Binary) bool {
	info, err := s.dir.Root().Lstat(b.SHA256)
	return err == nil && isDigest(b.SHA256) && info.Mode().IsRegular() && info.Size() == b.Size
}

// Keep copies the file of a plugin, which serves as this version, and returns its digest. A
// binary whose digest is known (empty: it is not) and that is kept already is not read.
//
// # Errors
//
// Those of reading the file and of writing the copy and the index.
func (s *Store) Keep(ctx context.Context, path, file, version, known string) (sha256 string, err error) {
	of := s.Of(path)
	i := slices.IndexFunc(of, func(b Binary) bool { return b.SHA256 == known })
	if i == 0 {
		return known, nil
	}
	b := Binary{SHA256: known, Version: version, Served: time.Now().UTC().Round(0)}
	place := func() error { return nil } // gives the copy its name, while the index is locked
	if i > 0 {
		b.Size = of[i].Size
	} else {
		f, err := sealed.Copy(ctx, file, sealed.Options{Dir: s.dir.Path(), Private: true, MaxSize: maxSize})
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }() // if it does not get a name, it is removed
		b.SHA256, b.Size = f.SHA256, f.Size
		place = func() error { return s.dir.Root().Rename(filepath.Base(f.Path()), f.SHA256) }
	}
	return b.SHA256, s.update(func(all index) error {
		if err := place(); err != nil {
			return err
		}
		e := all[path]
		e.Binaries = slices.DeleteFunc(e.Binaries, func(old Binary) bool { return old.SHA256 == b.SHA256 })
		e.Binaries = slices.Insert(e.Binaries, 0, b)
		e.Binaries = e.Binaries[:min(len(e.Binaries), PerPlugin)]
		all[path] = e
		return nil
	})
}

// update changes the index, and removes the copies that it does not name any more.
func (s *Store) update(change func(index) error) error {
	err := s.file.Update(func(all *index) error {
		if *all == nil {
			*all = index{}
		}
		if err := change(*all); err != nil {
			return err
		}
		all.bound(time.Now())
		s.prune(*all)
		return nil
	})
	if err != nil {
		return fmt.Errorf("what is kept of binaries is not noted: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = nil
	return nil
}

// bound forgets plugins that are gone for long, and the oldest binaries of those that have
// several, until what is left has no more than maxBytes.
func (all index) bound(now time.Time) {
	type place struct {
		path string
		rank int
		Binary
	}
	var places []place
	sizes := map[string]int64{}
	for path, e := range all {
		gone := manifest.StampOf(path) == manifest.Stamp{}
		if len(e.Binaries) == 0 || gone && now.Sub(e.Binaries[0].Served) > maxAge {
			delete(all, path)
			continue
		}
		for i, b := range e.Binaries {
			places = append(places, place{path, i, b})
			sizes[b.SHA256] = b.Size
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), a.Served.Compare(b.Served))
	})
	var bytes int64
	for _, size := range sizes {
		bytes += size
	}
	for _, p := range places {
		if bytes <= maxBytes {
			return
		}
		e := all[p.path]
		e.Binaries = slices.DeleteFunc(slices.Clone(e.Binaries), func(b Binary) bool { return b.SHA256 == p.SHA256 })
		if all[p.path] = e; !all.names(p.SHA256) {
			bytes -= p.Size
		}
	}
}

// names reports whether the index names a binary.
func (all index) names(sha256 string) bool {
	for _, e := range all {
		if slices.ContainsFunc(e.Binaries, func(b Binary) bool { return b.SHA256 == sha256 }) {
			return true
		}
	}
	return false
}

// prune removes the files that this package has made and that the index does not name. The
// index is locked.
func (s *Store) prune(all index) {
	root := s.dir.Root()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, f := range entries {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		left := isTemporary(f.Name()) && time.Since(info.ModTime()) > time.Hour // by a process that was ended
		if left || isDigest(f.Name()) && !all.names(f.Name()) {
			_ = root.Remove(f.Name())
		}
	}
}

// RollBack records that a kept binary serves in place of a plugin's file.
//
// # Errors
//
// Those of writing the index.
func (s *Store) RollBack(path string, rb Rollback) error {
	return s.update(func(all index) error {
		e := all[path]
		e.Rollback = &rb
		all[path] = e
		return nil
	})
}

// EndRollback forgets it.
//
// # Errors
//
// Those of writing the index.
func (s *Store) EndRollback(path string) error {
	if s.entry(path).Rollback == nil {
		return nil
	}
	return s.update(func(all index) error {
		e := all[path]
		e.Rollback = nil
		all[path] = e
		return nil
	})
}

// RolledBack returns what serves in place of a plugin's file, and in place of which; nil:
// nothing.
func (s *Store) RolledBack(path string) (to *Binary, from string) {
	rb := s.entry(path).Rollback
	if rb == nil {
		return nil, ""
	}
	of := s.Of(path)
	i := slices.IndexFunc(of, func(b Binary) bool { return b.SHA256 == rb.To })
	if i < 0 {
		return nil, ""
	}
	return &of[i], rb.From
}

func isDigest(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 64 && strings.ToLower(name) == name
}

// isTemporary reports whether sealed.Copy gave a name: digits, a hyphen and the file's.
func isTemporary(name string) bool {
	digits, _, ok := strings.Cut(name, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
