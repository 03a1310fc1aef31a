package pins

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/state"
)

// Record says what each lock that was in force pins, by its path, without links. Because of it
// another process refuses to go on without a lock that was removed.
type Record map[string]Pinned

// Pinned is what a lock pins.
type Pinned struct {
	Dirs []string `json:"dirs"` // plugin directories, without links
	// All says that the operator pinned all that there was, and no configuration: it counts wherever
	// these directories are named, and for servers too.
	All bool `json:"all,omitempty"`
}

// recordFile is where the record is kept, in the user's state directory.
const recordFile = "locked.json"

// maxRecorded bounds the locks on record.
const maxRecorded = 1000

// ReadRecord reads the record. A record that cannot be read is an error: it may require a
// lock.
func ReadRecord() (Record, error) {
	file, err := state.In[Record](recordFile)
	if err != nil {
		return nil, nil //nolint:nilerr // without a state directory nothing was ever written
	}
	record, err := file.Read()
	if err != nil {
		return nil, exit.With(exit.BadUsage, fmt.Errorf("the record of pinned plugin directories cannot be used: %w", err))
	}
	return record, nil
}

// Locks returns the locks with which plugins of a directory have to agree, sorted, in a command whose
// own lock is that: the user's, those of the same project, and from elsewhere those that pin their own
// project's plugins or were written without a configuration. A directory whose path cannot be resolved
// has none: nothing runs from it.
func (r Record) Locks(own, user, dir string) (out []string) {
	path, err := paths.Canonical(dir)
	if err != nil {
		return nil
	}
	for _, lock := range slices.Sorted(maps.Keys(r)) {
		home := filepath.Dir(lock)
		if slices.Contains(r[lock].Dirs, path) &&
			(lock == user || r[lock].All || home == filepath.Dir(own) || protect.Within(home, path)) {
			out = append(out, lock)
		}
	}
	return out
}

// How a lock is recorded.
type How int

// The ways.
const (
	Also       How = iota // as well as other locks
	Instead               // in place of other locks that count there, but for the user's
	Everywhere            // Instead, wherever a command runs, and for servers
)

// Pin records a lock for directories. Not kept and no error: the system has no place for the record.
func Pin(lock, user string, dirs []string, how How) (kept bool, err error) {
	return update(func(r Record) error {
		if _, known := r[lock]; !known && len(r) >= maxRecorded {
			r.forgetMissing()
		}
		if _, known := r[lock]; !known && len(r) >= maxRecorded {
			return fmt.Errorf("%s is full with %d locks: remove those that you do not use", recordFile, len(r))
		}
		for _, dir := range dirs {
			if how != Also {
				r.forget(lock, user, dir, user)
			}
			path, err := paths.Canonical(dir)
			if err != nil {
				continue // as in Locks
			}
			p := r[lock]
			p.All = p.All || how == Everywhere
			if !slices.Contains(p.Dirs, path) {
				p.Dirs = append(p.Dirs, path)
			}
			r[lock] = p
		}
		return nil
	})
}

// Forget removes directories from what the locks pin that count in a command with that own lock, but
// for the lock keep.
func Forget(own, user string, dirs []string, keep string) error {
	_, err := update(func(r Record) error {
		for _, dir := range dirs {
			r.forget(own, user, dir, keep)
		}
		return nil
	})
	return err
}

func (r Record) forget(own, user, dir, keep string) {
	path, err := paths.Canonical(dir)
	if err != nil {
		return
	}
	for _, lock := range r.Locks(own, user, dir) {
		if lock == keep {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(r[lock].Dirs), func(d string) bool { return d == path })
		if r[lock] = (Pinned{left, r[lock].All}); len(left) == 0 {
			delete(r, lock)
		}
	}
}

func update(change func(r Record) error) (kept bool, err error) {
	file, err := state.In[Record](recordFile)
	if err != nil {
		return false, nil //nolint:nilerr // callers report that nothing was kept
	}
	err = file.Update(func(r *Record) error {
		if *r == nil {
			*r = Record{}
		}
		return change(*r)
	})
	return err == nil, err
}

// forgetMissing removes the locks of which no directory exists any more.
func (r Record) forgetMissing() {
	maps.DeleteFunc(r, func(_ string, p Pinned) bool { return !slices.ContainsFunc(p.Dirs, paths.Exists) })
}
