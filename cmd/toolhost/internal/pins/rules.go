// Package pins decides which locks plugins have to agree with, and records which plugin
// directories are pinned. Begin with [Keeper.Rules].
package pins

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/trust"
)

// LockName is the name of the lock next to the configuration file.
const LockName = "toolhost.lock"

// Rules say which locks apply.
type Rules struct {
	// Off: the operator's configuration switches locks off.
	Off bool
	// Own is the lock that belongs to the configuration. File is the lock that toolhost
	// plugins lock writes and compares with: Own, or if that does not exist, the one on
	// record.
	Own, File string
	// Locks are the locks that plugins have to agree with.
	Locks []host.Lock
}

// Source is what the rules follow from.
type Source struct {
	Config     *config.Config
	ConfigPath string
	Dirs       []string // the plugin directories
	// Apart says that one plugin was named in place of those that are installed: then a lock
	// counts only if the configuration requires it.
	Apart bool
	// Trusts reports whether the operator has trusted a file with content of this digest.
	Trusts func(path, digest string) (bool, error)
	// Ignored is told of a lock that exists and does not count.
	Ignored func(path string)
	// Unrecorded is told that a lock could not be recorded, so that only this process
	// requires it.
	Unrecorded func(lock string, err error)
}

// Keeper remembers, for one process, the locks that it saw and could not record.
type Keeper struct{ unrecorded sync.Map }

// Rules returns the rules that follow from a source. In this order:
//
//  1. The configuration: lock: off, required or a path. A configuration in effect was named
//     or is trusted, so it is the operator's word.
//  2. The lock next to the configuration file, if it exists, and for each plugin directory
//     the lock on record. Plugins have to agree with both, and a lock on record has to
//     exist. A lock that was merely found in the current directory, without a
//     configuration, counts if it is on record or trusted (toolhost trust).
//  3. Nothing is pinned. A lock that appears is on record from then on.
//
// # Errors
//
// An [*exit.Error] if the record cannot be read: it may require a lock.
func (k *Keeper) Rules(src Source) (Rules, error) {
	own, err := OwnLock(src.Config, src.ConfigPath)
	if err != nil {
		return Rules{}, exit.With(exit.BadUsage, err)
	}
	rules := Rules{Own: own.File, File: own.File}
	if src.Config.Lock == config.LockOff {
		rules.Off = true
		return rules, nil
	}
	if src.Apart {
		if own.Required {
			rules.Locks = []host.Lock{own}
		}
		return rules, nil
	}
	record, err := ReadRecord()
	if err != nil {
		return Rules{}, err
	}
	recorded := record.Locks(src.Dirs)
	if required := own.Required; slices.Contains(recorded, "") {
		own.Seen = func() { k.seen(src, own.File, required) }
	}
	if _, unrecorded := k.unrecorded.Load(own.File); unrecorded {
		own.Required = true
	}
	if own.Required {
		rules.Locks = []host.Lock{own}
		return rules, nil
	}
	for i, file := range recorded {
		switch file {
		case "":
		case own.File:
			own.Required = true
		default:
			rules.Locks = append(rules.Locks, host.Lock{File: file, Dirs: src.Dirs[i : i+1], Required: true, Found: true})
		}
	}
	if len(rules.Locks) > 0 && !own.Required && !paths.Exists(own.File) && paths.Exists(filepath.Dir(rules.Locks[0].File)) {
		rules.File = rules.Locks[0].File
	}
	counts, err := src.counts(own)
	if err != nil {
		return Rules{}, exit.With(exit.BadUsage, err)
	}
	if counts {
		rules.Locks = slices.Insert(rules.Locks, 0, own)
	}
	for i, l := range rules.Locks { // the lock that is written has the servers too
		rules.Locks[i].Servers = l.File == rules.File
	}
	return rules, nil
}

// OwnLock returns the lock that belongs to a configuration file, which need not exist.
func OwnLock(c *config.Config, configPath string) (host.Lock, error) {
	if c.Lock != "" && c.Lock != config.LockOff && c.Lock != config.LockRequired {
		dir, err := paths.Canonical(filepath.Dir(c.Lock))
		return host.Lock{File: filepath.Join(dir, filepath.Base(c.Lock)), Required: true}, err
	}
	file, err := lockNextTo(configPath)
	return host.Lock{File: file, Required: c.Lock == config.LockRequired, Found: true}, err
}

// lockNextTo returns the lock next to a configuration file. If the file is a link and the
// lock is not next to the link, it may be next to the link's target.
func lockNextTo(path string) (string, error) {
	dir, err := paths.Canonical(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	lock := filepath.Join(dir, LockName)
	if paths.Exists(lock) {
		return lock, nil
	}
	target, err := paths.Canonical(path)
	if err != nil {
		return "", err
	}
	if other := filepath.Join(filepath.Dir(target), LockName); paths.Exists(other) {
		return other, nil
	}
	return lock, nil
}

// counts reports whether the lock that belongs to the configuration counts. Without a
// configuration the lock was merely found, and anyone who can write to the current directory
// could keep the user's plugins from running from then on.
func (s Source) counts(own host.Lock) (bool, error) {
	if s.Config.File != "" || own.Required {
		return true, nil
	}
	if !paths.Exists(own.File) {
		return false, nil // toolhost plugins lock records the lock that it writes
	}
	if _, err := state.Dir(); err != nil {
		return true, nil //nolint:nilerr // nothing lasts here that is trusted, and what does not count keeps plugins from starting
	}
	counts := false
	if digest, err := trust.Digest(own.File); err == nil { // a lock that cannot be read is not trusted
		if counts, err = s.Trusts(own.File, digest); err != nil {
			return false, err
		}
	}
	if !counts {
		s.Ignored(own.File)
	}
	return counts, nil
}

// seen records a lock that a host has seen, for the directories that have none on record. If
// that fails, this process remembers the lock, and reports it unless the configuration
// requires the lock.
func (k *Keeper) seen(src Source, lock string, required bool) {
	kept, err := record(lock, src.Dirs, false)
	if kept {
		return
	}
	k.unrecorded.Store(lock, true)
	if err != nil && !required {
		src.Unrecorded(lock, err)
	}
}
