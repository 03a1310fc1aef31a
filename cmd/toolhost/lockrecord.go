package main

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/state"
)

// lockRecord is which lock each plugin directory was pinned by: the lock's path by that
// of the directory, both without links. It is why another process, in whatever
// directory, refuses to go on without a lock that was removed.
type lockRecord map[string]string

// lockRecordFile is where it is kept, in the user's state directory.
const lockRecordFile = "locked.json"

// maxRecorded bounds the directories on record.
const maxRecorded = 1000

// readLockRecord reads the file. One that cannot be read is an error: it may require a
// lock.
func readLockRecord() (lockRecord, error) {
	file, err := state.In[lockRecord](lockRecordFile)
	if err != nil {
		return nil, nil //nolint:nilerr // without such a directory nothing was ever kept
	}
	record, err := file.Read()
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("which plugin directories are pinned is not known: %w", err)}
	}
	return record, nil
}

// of is the lock of each of some directories; empty: there is none on record. From a
// directory whose path cannot be followed nothing runs.
func (r lockRecord) of(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		if path, err := canonical(dir); err == nil {
			out[i] = r[path]
		}
	}
	return out
}

// recordLock puts a lock on record for directories: those that have none there, or all of
// them. Not kept, and no error: the system has no place for it.
func recordLock(file string, dirs []string, all bool) (kept bool, err error) {
	return changeLockRecord(dirs, func(r lockRecord, dir string) error {
		if r[dir] != "" && !all {
			return nil
		}
		if r[dir] == "" && len(r) >= maxRecorded {
			r.forgetGone()
		}
		if r[dir] == "" && len(r) >= maxRecorded {
			return fmt.Errorf("%d plugin directories are on record in %s, and no more fit: remove those that you do not use", len(r), lockRecordFile)
		}
		r[dir] = file
		return nil
	})
}

// forgetLocks takes directories off the record.
func forgetLocks(dirs []string) error {
	_, err := changeLockRecord(dirs, func(r lockRecord, dir string) error {
		delete(r, dir)
		return nil
	})
	return err
}

func changeLockRecord(dirs []string, change func(r lockRecord, dir string) error) (kept bool, err error) {
	file, err := state.In[lockRecord](lockRecordFile)
	if err != nil {
		return false, nil //nolint:nilerr // the caller tells, or has nothing to tell
	}
	err = file.Update(func(r *lockRecord) error {
		if *r == nil {
			*r = lockRecord{}
		}
		for _, dir := range dirs {
			path, err := canonical(dir)
			if err != nil {
				continue // see of
			}
			if err := change(*r, path); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil, err
}

// forgetGone drops the directories that are no longer there.
func (r lockRecord) forgetGone() {
	for dir := range r {
		if !isThere(dir) {
			delete(r, dir)
		}
	}
}
