package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/state"
)

// lockName is the lock's, beside the configuration file.
const lockName = "toolhost.lock"

// lockRules are what decides on locks, for a command or daemon.
type lockRules struct {
	// off: the operator's configuration says so.
	off bool
	// own is the lock that goes with the configuration, and file the one that toolhost
	// plugins lock writes and compares with: that, or if it is not there the one on record.
	own, file string
	// locks are what plugins have to agree with.
	locks []host.Lock
}

// lockRules puts together all that is said of locks. In this order:
//
//  1. The configuration: lock: off, required or a path. One that is in force was named
//     or is trusted, so it is the operator's word.
//  2. The lock beside the configuration file, if it is there, and for each plugin
//     directory the lock on record. Plugins have to agree with both, and what is on
//     record has to be there. A lock that was merely found in the current directory, by
//     no configuration, counts where it is on record or trusted (toolhost trust).
//  3. Nothing is pinned. A lock that appears is on record from then on.
//
// # Errors
//
// A [*failure] where the record cannot be read: it may require a lock.
func (a *app) lockRules() (lockRules, error) {
	c, dirs := a.configured(), a.namedDirs()
	own, err := a.ownLock(c)
	if err != nil {
		return lockRules{}, &failure{exitUsage, err}
	}
	if c.Lock == config.LockOff {
		return lockRules{off: true, own: own.File, file: own.File}, nil
	}
	record, err := readLockRecord()
	if err != nil {
		return lockRules{}, err
	}
	pinned := record.of(dirs.dirs)
	if file, required := own.File, own.Required; slices.Contains(pinned, "") {
		own.Seen = func() { a.noteLock(file, dirs.dirs, required) }
	}
	if _, unkept := a.unkeptLocks.Load(own.File); unkept {
		own.Required = true
	}
	if own.Required {
		return lockRules{own: own.File, file: own.File, locks: []host.Lock{own}}, nil
	}
	rules := lockRules{own: own.File, file: own.File}
	for i, file := range pinned {
		switch file {
		case "":
		case own.File:
			own.Required = true
		default:
			rules.locks = append(rules.locks, host.Lock{File: file, Dirs: dirs.dirs[i : i+1], Required: true})
		}
	}
	if len(rules.locks) > 0 && !own.Required && !isThere(own.File) && isThere(filepath.Dir(rules.locks[0].File)) {
		rules.file = rules.locks[0].File
	}
	counts, err := a.lockCounts(c, own)
	if err != nil {
		return lockRules{}, &failure{exitUsage, err}
	}
	if counts {
		rules.locks = slices.Insert(rules.locks, 0, own)
	}
	return rules, nil
}

// ownLock is the lock that goes with the configuration file, as far as that says.
func (a *app) ownLock(c *config.Config) (host.Lock, error) {
	if c.Lock != "" && c.Lock != config.LockOff && c.Lock != config.LockRequired {
		dir, err := canonical(filepath.Dir(c.Lock))
		return host.Lock{File: filepath.Join(dir, filepath.Base(c.Lock)), Required: true}, err
	}
	path, _, err := a.configPath()
	if err != nil {
		return host.Lock{}, err
	}
	file, err := lockBeside(path)
	return host.Lock{File: file, Required: c.Lock == config.LockRequired}, err
}

// lockBeside is the lock beside a configuration file: if that is a link, the lock beside
// the link, or else the one beside its target.
func lockBeside(path string) (string, error) {
	dir, err := canonical(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	beside := filepath.Join(dir, lockName)
	if isThere(beside) {
		return beside, nil
	}
	target, err := canonical(path)
	if err != nil {
		return "", err
	}
	if of := filepath.Join(filepath.Dir(target), lockName); isThere(of) {
		return of, nil
	}
	return beside, nil
}

// lockCounts reports whether the lock that goes with a configuration counts. Without a
// configuration it was merely found, and whoever wrote the current directory could keep
// the user's plugins from running, from then on.
func (a *app) lockCounts(c *config.Config, own host.Lock) (bool, error) {
	if c.File != "" || own.Required {
		return true, nil
	}
	if !isThere(own.File) {
		return false, nil // one that toolhost plugins lock makes later is on record
	}
	if _, err := state.Dir(); err != nil {
		return true, nil //nolint:nilerr // nothing can be trusted here, and a lock only takes away
	}
	counts := false
	if digest, err := contentOf(own.File); err == nil { // else nothing in it can be trusted
		if counts, err = a.trustsContent(own.File, digest); err != nil {
			return false, err
		}
	}
	if !counts {
		a.noteUntrusted(own.File)
	}
	return counts, nil
}

// isThere reports whether anything has that path, were it a link that leads nowhere.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// noteLock puts a lock that was seen on record, for those of the directories that have
// none there. Where that cannot be, this process remembers it, and says so unless the
// configuration requires the lock.
func (a *app) noteLock(file string, dirs []string, required bool) {
	kept, err := recordLock(file, dirs, false)
	if kept {
		return
	}
	a.unkeptLocks.Store(file, true)
	if err != nil && a.log != nil && !required {
		a.log.Warn("that there is a lock is remembered by this process alone: say lock: required in the configuration",
			"lock", file, "error", err)
	}
}
