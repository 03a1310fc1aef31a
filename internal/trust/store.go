// Package trust remembers which content of files the operator has trusted, by path and digest.
// Begin with [Open] and [Store.Counts].
//
// A file that a command finds in the current directory may come from anyone who can write
// there, such as the author of a cloned repository, and one in the workspace from a plugin that
// may write there. Both count with the content that the operator trusted, and with no other.
package trust

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/state"
)

// MaxEntries bounds the files that are remembered. A full store forgets files that no longer
// exist, and takes no others: what it forgot would be new, and count.
const MaxEntries = 1000

// Entry is a trusted file.
type Entry struct {
	// File is the absolute path, with the links of its directory resolved.
	File string `json:"file"`
	// SHA256 is the digest of the content, in hexadecimal digits.
	SHA256 string    `json:"sha256"`
	Since  time.Time `json:"since"`
	// Inside says that the file lay in a workspace when it counted: it counts with this content
	// alone from then on, whatever the workspace is by its next content.
	Inside bool `json:"inside,omitempty"`
	// Seen is what the file looked like with this content, see [Store.Trusted]; empty: that is not known.
	Seen string `json:"seen,omitempty"`
}

// Store is the list of trusted files. It is safe for concurrent use, also by several
// processes.
type Store struct {
	file   state.File[[]Entry]
	memory *memory // nil: it is a file
}

type memory struct {
	mu  sync.Mutex
	all []Entry
}

// fileName is the name of the store in the user's state directory.
const fileName = "trusted.json"

// Open returns the user's store.
//
// # Errors
//
// Those of [state.Dir].
func Open() (Store, error) {
	file, err := state.In[[]Entry](fileName)
	return Store{file: file}, err
}

// At returns the store in a file, which need not exist.
func At(path string) Store { return Store{file: state.File[[]Entry]{Path: path}} }

// In returns the store of a state directory, which need not exist.
func In(dir string) Store { return At(filepath.Join(dir, fileName)) }

// process is the store of [Memory].
var process memory

// Memory returns a store that lasts as long as the process.
func Memory() Store { return Store{memory: &process} }

func (s Store) read() ([]Entry, error) {
	if s.memory == nil {
		return s.file.Read()
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return slices.Clone(s.memory.all), nil
}

func (s Store) update(change func(*[]Entry) error) error {
	if s.memory == nil {
		return s.file.Update(change)
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return change(&s.memory.all)
}

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
	return s.Counts(path, sha256, Circumstances{})
}

// Trusted returns the digest of a file that is trusted as it is; empty: it is not. A file is not read again as long as its
// size and time are those that it had with that content, so whoever runs it compares what runs with the digest.
//
// # Errors
//
// Those of the system, of [state.File.Read] and of [Place].
func (s Store) Trusted(path string) (sha256 string, err error) {
	place, err := Place(path)
	all, unread := s.read()
	info, gone := os.Stat(path)
	if err = cmp.Or(err, unread, gone); err != nil {
		return "", err
	}
	looks := fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
	is := func(e Entry) bool { return e.File == place && (e.Seen == looks || e.SHA256 == sha256) }
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i].SHA256, nil
	}
	if sha256, err = Digest(path); err != nil || !slices.ContainsFunc(all, is) {
		return "", err
	}
	_ = s.update(func(all *[]Entry) error { // else it is read again the next time
		if i := slices.IndexFunc(*all, is); i >= 0 {
			(*all)[i].Seen = looks
		}
		return nil
	})
	return sha256, nil
}

// Circumstances are what decides about a file besides its content. The zero value is a file that
// was merely found, outside of the workspace.
type Circumstances struct {
	// Inside: it lies in the workspace, where plugins may have written it.
	Inside bool
	// Named: the operator said to use it. Outside of the workspace that is enough.
	Named bool
	// First: the content with which it is named first is remembered as trusted.
	First bool
}

// Counts reports whether a file with this content counts, and remembers the content of one that
// is named first.
//
// # Errors
//
// Those of [state.File.Read], of [state.File.Update] and of [Place]: the file does not count.
func (s Store) Counts(path, sha256 string, c Circumstances) (bool, error) {
	place, err := Place(path)
	if err != nil {
		return false, err
	}
	all, err := s.read()
	if err != nil {
		return false, err
	}
	counts, changed := decide(&all, place, sha256, c)
	if !changed {
		return counts, nil
	}
	err = s.update(func(all *[]Entry) error {
		counts, _ = decide(all, place, sha256, c) // another process may have been first
		return bound(all)
	})
	return counts && err == nil, err
}

// decide is Counts on a list, which it may change.
func decide(all *[]Entry, place, sha256 string, c Circumstances) (counts, changed bool) {
	i := slices.IndexFunc(*all, func(e Entry) bool { return e.File == place })
	switch {
	case i >= 0 && (*all)[i].SHA256 == sha256:
		changed = c.Inside && !(*all)[i].Inside
		(*all)[i].Inside = (*all)[i].Inside || c.Inside
		return true, changed
	case c.Named && !c.Inside:
		return i < 0 || !(*all)[i].Inside, false
	case !c.Named || !c.First || i >= 0:
		return false, false
	}
	*all = append(*all, Entry{File: place, SHA256: sha256, Since: now(), Inside: true})
	return true, true
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// Trust remembers a file with this content, in place of any other content of the file.
//
// # Errors
//
// Those of [state.File.Update], and of [Place]; a plain one if the store is full.
func (s Store) Trust(path, sha256 string) error {
	place, err := Place(path)
	if err != nil {
		return err
	}
	return s.update(func(all *[]Entry) error {
		e := Entry{File: place, SHA256: sha256, Since: now()}
		if i := slices.IndexFunc(*all, func(e Entry) bool { return e.File == place }); i >= 0 {
			if (*all)[i].SHA256 == sha256 {
				return nil
			}
			e.Inside = (*all)[i].Inside
			*all = slices.Delete(*all, i, i+1)
		}
		*all = append(*all, e)
		return bound(all)
	})
}

// bound forgets files that are gone if there are more than [MaxEntries].
func bound(all *[]Entry) error {
	if len(*all) <= MaxEntries {
		return nil
	}
	newest := (*all)[len(*all)-1]
	*all = slices.DeleteFunc(*all, func(e Entry) bool {
		_, err := os.Lstat(e.File)
		return errors.Is(err, fs.ErrNotExist) && e != newest
	})
	if len(*all) > MaxEntries {
		return fmt.Errorf("%s is full with %d files: %s", fileName, MaxEntries, remedy.TrustList)
	}
	return nil
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
	err = s.update(func(all *[]Entry) error {
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
	all, err := s.read()
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.File, b.File) })
	for i := range all {
		all[i].Seen = "" // the store's own
	}
	return all, err
}
