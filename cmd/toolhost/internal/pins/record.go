package pins

import (
	"fmt"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/internal/state"
)

// Record says by which lock each plugin directory was pinned: the path of the lock by the
// path of the directory, both without links. Because of it another process, whatever its
// current directory, refuses to go on without a lock that was removed.
type Record map[string]string

// recordFile is where the record is kept, in the user's state directory.
const recordFile = "locked.json"

// maxRecorded bounds the directories on record.
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

// Locks returns the lock of each directory; empty if none is on record. It ignores a
// directory whose path cannot be resolved: nothing runs from it.
func (r Record) Locks(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		if path, err := paths.Canonical(dir); err == nil {
			out[i] = r[path]
		}
	}
	return out
}

// Pin records a lock for directories, in place of any other. Not kept and no error: the
// system has no place for the record.
func Pin(lock string, dirs []string) (kept bool, err error) { return record(lock, dirs, true) }

// record records a lock for directories; unless replace, only for those without one.
func record(lock string, dirs []string, replace bool) (kept bool, err error) {
	return update(dirs, func(r Record, dir string) error {
		if r[dir] != "" && !replace {
			return nil
		}
		if r[dir] == "" && len(r) >= maxRecorded {
			r.forgetMissing()
		}
		if r[dir] == "" && len(r) >= maxRecorded {
			return fmt.Errorf("%s is full with %d plugin directories: remove those that you do not use", recordFile, len(r))
		}
		r[dir] = lock
		return nil
	})
}

// Forget removes directories from the record.
func Forget(dirs []string) error {
	_, err := update(dirs, func(r Record, dir string) error {
		delete(r, dir)
		return nil
	})
	return err
}

func update(dirs []string, change func(r Record, dir string) error) (kept bool, err error) {
	file, err := state.In[Record](recordFile)
	if err != nil {
		return false, nil //nolint:nilerr // callers report that nothing was kept
	}
	err = file.Update(func(r *Record) error {
		if *r == nil {
			*r = Record{}
		}
		for _, dir := range dirs {
			path, err := paths.Canonical(dir)
			if err != nil {
				continue // as in Locks
			}
			if err := change(*r, path); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil, err
}

// forgetMissing removes the directories that no longer exist.
func (r Record) forgetMissing() {
	for dir := range r {
		if !paths.Exists(dir) {
			delete(r, dir)
		}
	}
}
