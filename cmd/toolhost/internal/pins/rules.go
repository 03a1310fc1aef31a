// Package pins decides which locks plugins have to agree with, and records which plugin
// directories are pinned. Begin with [Keeper.Rules].
package pins

import (
	"maps"
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
	// Own is the lock that belongs to the configuration, User that of what is installed for the
	// user; empty: nothing can be. File is the one of them, or of those on record, that toolhost
	// plugins lock writes and compares with.
	Own, User, File string
	// Locks are the locks that plugins have to agree with.
	Locks []host.Lock
}

// Source is what the rules follow from.
type Source struct {
	Config     *config.Config
	ConfigPath string
	Dirs       []string // the plugin directories
	// User is the lock of what is installed for the user, and Installed that one of Dirs; empty:
	// none of them.
	User, Installed string
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
//  2. The lock next to the configuration file, if it exists, the user's lock for what is
//     installed, and for each plugin directory the locks on record that count here
//     ([Record.Locks]). Plugins have to agree with all, and a lock on record has to exist. A
//     lock that was merely found in the current directory, without a configuration, counts if
//     it is on record or trusted (toolhost trust).
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
	rules := Rules{Own: own.File, User: src.User, File: own.File}
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
	pinned := map[string][]string{} // directories by lock
	for _, dir := range src.Dirs {
		for _, lock := range record.Locks(own.File, src.User, dir) {
			pinned[lock] = append(pinned[lock], dir)
		}
	}
	if required := own.Required; len(pinned[own.File]) < len(src.Dirs) {
		own.Seen = func() { k.seen(src, own.File, required) }
	}
	if _, unrecorded := k.unrecorded.Load(own.File); unrecorded {
		own.Required = true
	}
	if own.Required {
		rules.Locks = []host.Lock{own}
		return rules, nil
	}
	own.Required = pinned[own.File] != nil
	delete(pinned, own.File)
	counts, err := src.counts(own)
	if err != nil {
		return Rules{}, exit.With(exit.BadUsage, err)
	}
	if counts {
		rules.Locks = []host.Lock{own}
	}
	for _, file := range slices.Sorted(maps.Keys(pinned)) {
		l := host.Lock{File: file, Dirs: pinned[file], Required: true, Found: true, Servers: file == src.User && record[file].All}
		rules.Locks = append(rules.Locks, l)
		if file != src.User && !own.Required && !paths.Exists(own.File) && paths.Exists(filepath.Dir(file)) {
			rules.File = file
		}
	}
	if src.Installed != "" && rules.File == own.File && src.Config.File == "" && !counts {
		rules.File = src.User
	}
	if src.Installed != "" && pinned[src.User] == nil && paths.Exists(src.User) {
		dirs := []string{src.Installed}
		rules.Locks = append(rules.Locks, host.Lock{File: src.User, Dirs: dirs, Found: true, Seen: func() {
			_, _ = Pin(src.User, src.User, dirs, Also) // what cannot be recorded counts as long as it is there
		}})
	}
	for i, l := range rules.Locks { // the lock that is written has the servers too
		rules.Locks[i].Servers = l.Servers || l.File == rules.File && l.File != src.User
	}
	return rules, nil
}

// UserLock returns the lock of what is installed to a directory: next to it.
func UserLock(dir string) (string, error) {
	path, err := paths.Canonical(dir)
	return path + ".lock", err
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

// seen records a lock that a host has seen. If that fails, this process remembers the lock, and reports it unless the configuration
// requires the lock.
func (k *Keeper) seen(src Source, lock string, required bool) {
	kept, err := Pin(lock, src.User, src.Dirs, Also)
	if kept {
		return
	}
	k.unrecorded.Store(lock, true)
	if err != nil && !required {
		src.Unrecorded(lock, err)
	}
}
