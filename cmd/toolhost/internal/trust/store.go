// Package trust remembers which files an operator lets rule this machine: by their
// place and their content, in the user's state directory. Begin with [Open].
//
// A file that a command finds in the directory that it is run in may come from anyone
// who could write there, such as the author of a repository that was cloned. It counts
// once the operator has looked at it; when it changes, it counts no more.
package trust

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/state"
)

// MaxEntries is how many files are remembered. Beyond it those that are gone are
// forgotten, and then the oldest: they have to be trusted again.
const MaxEntries = 200

// Entry is a file that is trusted.
type Entry struct {
	// File is its path, absolute, the links of its directory resolved.
	File string `json:"file"`
	// SHA256 is the digest of its content, in hexadecimal digits.
	SHA256 string    `json:"sha256"`
	Since  time.Time `json:"since"`
}

// Store is a list of trusted files. It is safe for concurrent use, by several
// processes too.
type Store struct{ file state.File[[]Entry] }

// fileName is the store's, in the user's state directory.
const fileName = "trusted.json"

// Open returns the user's store.
//
// # Errors
//
// Those of [state.Dir].
func Open() (Store, error) {
	file, err := state.In[[]Entry](fileName)
	return Store{file}, err
}

// In returns the store of a state directory, which need not exist.
func In(dir string) Store { return Store{state.File[[]Entry]{Path: filepath.Join(dir, fileName)}} }

// Path is where the store is kept.
func (s Store) Path() string { return s.file.Path }

// Place returns what a file is remembered by. Links of its directory are resolved, as
// that is what relative paths in the file refer to; the file itself may be a link, and
// its content counts.
//
// # Errors
//
// Those of [protect.Resolve].
func Place(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, _, err := protect.Resolve(filepath.Dir(abs))
	return filepath.Join(dir, filepath.Base(abs)), err
}

// Trusts reports whether a file with this content is trusted.
//
// # Errors
//
// Those of [state.File.Read], and of [Place].
func (s Store) Trusts(path, sha256 string) (bool, error) {
	place, err := Place(path)
	if err != nil {
		return false, err
	}
	all, err := s.file.Read()
	return err == nil && slices.ContainsFunc(all, func(e Entry) bool { return e.File == place && e.SHA256 == sha256 }), err
}

// Trust remembers a file with this content, in place of any other content that it had.
//
// # Errors
//
// Those of [state.File.Update], and of [Place].
func (s Store) Trust(path, sha256 string) error {
	place, err := Place(path)
	if err != nil {
		return err
	}
	return s.file.Update(func(all *[]Entry) error {
		if slices.ContainsFunc(*all, func(e Entry) bool { return e.File == place && e.SHA256 == sha256 }) {
			return nil
		}
		*all = slices.DeleteFunc(*all, func(e Entry) bool { return e.File == place })
		*all = append(*all, Entry{place, sha256, time.Now().UTC().Truncate(time.Second)})
		*all = bounded(*all)
		return nil
	})
}

// bounded leaves out what is too much, the newest last.
func bounded(all []Entry) []Entry {
	if len(all) <= MaxEntries {
		return all
	}
	all = slices.DeleteFunc(all, func(e Entry) bool {
		_, err := os.Lstat(e.File)
		return errors.Is(err, fs.ErrNotExist)
	})
	return all[max(0, len(all)-MaxEntries):]
}

// Revoke forgets a file, and reports whether it was trusted.
//
// # Errors
//
// Those of [state.File.Update], and of [Place].
func (s Store) Revoke(path string) (was bool, err error) {
	place, err := Place(path)
	if err != nil {
		return false, err
	}
	err = s.file.Update(func(all *[]Entry) error {
		before := len(*all)
		*all = slices.DeleteFunc(*all, func(e Entry) bool { return e.File == place })
		was = len(*all) < before
		return nil
	})
	return was && err == nil, err
}

// List are the files that are trusted, sorted by path.
//
// # Errors
//
// Those of [state.File.Read].
func (s Store) List() ([]Entry, error) {
	all, err := s.file.Read()
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.File, b.File) })
	return all, err
}
