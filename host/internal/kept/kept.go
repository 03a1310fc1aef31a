// Package kept keeps copies of the plugin binaries that served last, so that one of them can
// serve when a newer file cannot, or when the operator goes back to it. Begin with [Open].
//
//	DIR/binaries/CACHEDIR.TAG  says that toolhost made the directory
//	DIR/binaries/SHA256        a binary, named for its digest
//
// Which binaries of which plugin there are is in the plugins' records. The directory is private. A
// name proves nothing: whoever runs a copy compares its digest with the record while the copy is
// read for the last time. Of each plugin the last [PerPlugin] binaries are kept, and of all no
// more than 1 GiB.
package kept

import (
	"cmp"
	"context"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sealed"
)

// PerPlugin is how many binaries of one plugin are kept.
const PerPlugin = pluginrun.KeptBinaries

// Bounds of the sizes, in bytes, and of how long a plugin is remembered that is gone.
const (
	maxSize  = 256 << 20
	maxBytes = 1 << 30
	maxAge   = 90 * 24 * time.Hour
)

const directoryName = "binaries"

// Store is the directory; nil: nothing is kept. It is safe for concurrent use, by several processes too.
type Store struct {
	dir  *marked.Dir
	book *known.Book
}

// Open opens the store in the directory of a book, which alone names what is in it.
//
// # Errors
//
// Those of [marked.Open].
func Open(dir string, book *known.Book) (*Store, error) {
	own, err := marked.Open(dir, directoryName)
	if err != nil {
		return nil, err
	}
	return &Store{own, book}, nil
}

// Close closes the directory.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	return s.dir.Close()
}

// Path returns where the binary of a digest is, if it is there.
func (s *Store) Path(sha256 string) string { return filepath.Join(s.dir.Path(), sha256) }

// record returns what is known of a plugin. A book that cannot be read knows what it did.
func (s *Store) record(p known.Plugin) known.Record {
	if s == nil {
		return known.Record{}
	}
	_ = s.book.Reload()
	return s.book.Of(p)
}

// Of returns the binaries of a plugin that are there, the newest first.
func (s *Store) Of(p known.Plugin) []known.Binary { return s.there(s.record(p)) }

func (s *Store) there(r known.Record) []known.Binary {
	return slices.DeleteFunc(slices.Clone(r.Kept), func(b known.Binary) bool { return !s.has(b) })
}

// has reports whether the copy of a binary is there, as far as its size tells.
func (s *Store) has(b known.Binary) bool {
	info, err := s.dir.Root().Lstat(b.SHA256)
	return err == nil && isDigest(b.SHA256) && info.Mode().IsRegular() && info.Size() == b.Size
}

// Keep copies the file of a plugin, of the path that its record is to have, which serves as this
// version, and returns its digest. A binary whose digest is known (empty: it is not) and that is
// kept already is not read.
//
// # Errors
//
// Those of reading the file, and of writing the copy and the record.
func (s *Store) Keep(
	ctx context.Context, p known.Plugin, path, file, version, digest string,
) (sha256 string, err error) {
	of := s.Of(p)
	i := slices.IndexFunc(of, func(b known.Binary) bool { return b.SHA256 == digest })
	if i == 0 {
		return digest, nil
	}
	b := known.Binary{SHA256: digest, Version: version, Served: time.Now().UTC().Round(0)}
	place := func() error { return nil } // gives the copy its name, while the book is locked
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
	return b.SHA256, s.book.Write(func(all known.Records) error {
		if err := place(); err != nil {
			return err
		}
		all.Change(p, func(r *known.Record) {
			before := slices.DeleteFunc(slices.Clone(r.Kept), func(old known.Binary) bool { return old.SHA256 == b.SHA256 })
			r.Kept = slices.Insert(before, 0, b)[:min(len(before)+1, PerPlugin)]
			r.Path = path
		})
		bound(all, time.Now())
		s.prune(all)
		return nil
	})
}

// bound forgets the binaries of plugins that are gone for long, and of the others, the newest of each
// plugin first, those beyond maxBytes.
func bound(all known.Records, now time.Time) {
	type place struct {
		plugin known.Plugin
		rank   int
		known.Binary
	}
	var places []place
	for dir, plugins := range all {
		for name, r := range plugins {
			p := known.Plugin{Dir: dir, Name: name}
			gone := manifest.StampOf(r.Path) == manifest.Stamp{}
			if len(r.Kept) > 0 && gone && now.Sub(r.Kept[0].Served) > maxAge {
				all.Change(p, func(r *known.Record) { r.Path, r.Kept, r.Rollback = "", nil, nil })
				continue
			}
			for i, b := range r.Kept {
				places = append(places, place{p, i, b})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.Served.Compare(a.Served))
	})
	left, kept := int64(maxBytes), map[string]bool{}
	for _, p := range places {
		switch {
		case kept[p.SHA256]:
		case p.Size <= left:
			left -= p.Size
			kept[p.SHA256] = true
		default:
			all.Change(p.plugin, func(r *known.Record) {
				r.Kept = slices.DeleteFunc(slices.Clone(r.Kept), func(b known.Binary) bool { return b.SHA256 == p.SHA256 })
			})
		}
	}
}

// names reports whether a record names a binary.
func names(all known.Records, sha256 string) bool {
	for _, plugins := range all {
		for _, r := range plugins {
			if slices.ContainsFunc(r.Kept, func(b known.Binary) bool { return b.SHA256 == sha256 }) {
				return true
			}
		}
	}
	return false
}

// prune removes the files that this package has made and that no record names. The book is
// locked.
func (s *Store) prune(all known.Records) {
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
		if left || isDigest(f.Name()) && !names(all, f.Name()) {
			_ = root.Remove(f.Name())
		}
	}
}

// RollBack records that a kept binary serves in place of a plugin's file; nil: none does any more.
//
// # Errors
//
// Those of writing the record.
func (s *Store) RollBack(p known.Plugin, rb *known.Rollback) error {
	if rb == nil && s.record(p).Rollback == nil {
		return nil
	}
	return s.book.Decide(func(all known.Records) { all.Change(p, func(r *known.Record) { r.Rollback = rb }) })
}

// RolledBack returns what serves in place of a plugin's file, and in place of which; nil:
// nothing.
func (s *Store) RolledBack(p known.Plugin) (to *known.Binary, from string) {
	r := s.record(p)
	if r.Rollback == nil {
		return nil, ""
	}
	of := s.there(r)
	i := slices.IndexFunc(of, func(b known.Binary) bool { return b.SHA256 == r.Rollback.To })
	if i < 0 {
		return nil, ""
	}
	return &of[i], r.Rollback.From
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
