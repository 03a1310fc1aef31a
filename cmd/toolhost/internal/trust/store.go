// Package trust remembers which files the operator has trusted, by path and content, in the
// user's state directory. Begin with [Open].
//
// A file that a command finds in the current directory may come from anyone who can write
// there, such as the author of a cloned repository. It counts once the operator has trusted
// it, until its content changes.
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

// MaxEntries bounds the files that are remembered. Beyond it the store forgets files that no
// longer exist, and then the oldest entries: those files have to be trusted again.
const MaxEntries = 200

// Entry is a trusted file.
type Entry struct {
	// File is the absolute path, with the links of its directory resolved.
	File string `json:"file"`
	// SHA256 is the digest of the content, in hexadecimal digits.
	SHA256 string    `json:"sha256"`
	Since  time.Time `json:"since"`
}

// Store is the list of trusted files. It is safe for concurrent use, also by several
// processes.
type Store struct{ file state.File[[]Entry] }

// fileName is the name of the store in the user's state directory.
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

// Path returns the path of the store.
func (s Store) Path() string { return s.file.Path }

// Place returns the path that a file is remembered by. The links of its directory are
// resolved, because relative paths in the file refer to that directory. The file itself may
// be a link: its content counts.
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

// Trust remembers a file with this content, in place of any other content of the file.
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

// bounded drops entries beyond [MaxEntries]; the newest are last.
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

// List returns the trusted files, sorted by path.
//
// # Errors
//
// Those of [state.File.Read].
func (s Store) List() ([]Entry, error) {
	all, err := s.file.Read()
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.File, b.File) })
	return all, err
}
