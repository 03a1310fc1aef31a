package host

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Lock is a toolhost.lock, and the plugins that it pins. The file is checked before each
// start; a process that already runs goes on. If the file cannot be read, or anything in it
// is wrong, no plugin of its directories starts.
type Lock struct {
	// File is its path.
	File string
	// Dirs are the plugin directories whose plugins it pins. None: all of them, and the
	// servers that are mounted.
	Dirs []string
	// Servers lets a lock of some directories pin the servers too.
	Servers bool
	// Required keeps plugins from running while the file is missing. A file that was
	// there once is required from then on: removing it does not remove the pins.
	Required bool
	// Seen is called when the file is there for the first time. Nil: nothing is called.
	Seen func()
}

// WithLocks runs only plugins that match every lock for their directory. Default: none, and
// every plugin may run.
func WithLocks(locks ...Lock) Option {
	return func(o *options) { o.operator.locks, o.operator.pins = locks, pinsOf(locks) }
}

// WithLockFile is WithLocks with one file for all plugins, which need not exist.
func WithLockFile(path string) Option { return WithLocks(Lock{File: path}) }

// pinsOf returns the pins of locks, by a plugin's directory; empty: those of servers.
func pinsOf(locks []Lock) func(dir string) (plugin.Pins, error) {
	files := make([]*lockFile, len(locks))
	for i, l := range locks {
		files[i] = &lockFile{Lock: l}
	}
	return func(dir string) (plugin.Pins, error) {
		var all allPins
		for _, f := range files {
			server := dir == ""
			pinned := f.Servers
			if !server {
				pinned = roster.HoldsDir(f.Dirs, dir)
			}
			if len(f.Dirs) > 0 && !pinned {
				continue
			}
			lock, err := f.current()
			if err != nil {
				return nil, err
			}
			if lock != nil {
				all = append(all, lockPin{lock, f.File, server})
			}
		}
		if all == nil {
			return nil, nil
		}
		return all, nil
	}
}

// lockFile is a lock as it was when it was read last.
type lockFile struct {
	Lock

	mu   sync.Mutex
	seen bool
	read manifest.Stamp
	lock *lockfile.Lock
	err  error
}

// current returns what the file pins; nil: it does not exist, and need not.
func (f *lockFile) current() (*lockfile.Lock, error) {
	lock, appeared, err := f.load()
	if appeared && f.Seen != nil {
		f.Seen()
	}
	return lock, err
}

func (f *lockFile) load() (lock *lockfile.Lock, appeared bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := manifest.StampOf(f.File)
	// What was wrong with a file may be repaired without a change of its content.
	if now != f.read || f.lock == nil {
		f.read = now
		f.lock, f.err = lockfile.Read(f.File)
	}
	if errors.Is(f.err, fs.ErrNotExist) {
		if f.Required || f.seen {
			return nil, false, missingLock(f.File)
		}
		return nil, false, nil
	}
	appeared, f.seen = !f.seen, true
	return f.lock, appeared, f.err
}

func missingLock(file string) error {
	return &tool.Error{
		Code: tool.CodeUnavailable, Stage: tool.StageStart, Unsent: true,
		Message: file + " is missing, and without it no plugin starts that it is to pin",
		OperatorHint: "restore it, or pin what is there now: toolhost plugins lock" +
			" (to run what is not pinned: toolhost plugins lock --off)",
	}
}

// lockPin is a lock as the pins of a plugin's start, or of a server's.
type lockPin struct {
	lock   *lockfile.Lock
	file   string
	server bool
}

func (p lockPin) Listed(name string) error { return p.refusal(p.lock.CheckListed(name)) }

func (p lockPin) Binary(name, sha256 string) error {
	if p.server {
		return p.refusal(p.lock.CheckIdentity(name, sha256))
	}
	return p.refusal(p.lock.CheckBinary(name, sha256))
}

func (p lockPin) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(p.server, sha256, about)
	if err != nil {
		return err
	}
	return p.refusal(p.lock.Check(name, e))
}

// Needs implements [plugin.NeedsPins].
func (p lockPin) Needs(name string) (*tool.Needs, bool) { return p.lock.Needs(name) }

// refusal adds to an error which lock refuses.
func (p lockPin) refusal(err error) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.OperatorHint, e.Hint = e.Advice()+" (the pins are those of "+p.file+")", ""
	return &e
}

// allPins are pins that all have to agree.
type allPins []plugin.Pins

func (all allPins) Listed(name string) error {
	return all.each(func(p plugin.Pins) error { return p.Listed(name) })
}

func (all allPins) Binary(name, sha256 string) error {
	return all.each(func(p plugin.Pins) error { return p.Binary(name, sha256) })
}

func (all allPins) Described(name, sha256 string, about wire.Description) error {
	return all.each(func(p plugin.Pins) error { return p.Described(name, sha256, about) })
}

// Needs implements [plugin.NeedsPins]: what all of them accept that say so.
func (all allPins) Needs(name string) (out *tool.Needs, ok bool) {
	for _, p := range all {
		if p, is := p.(plugin.NeedsPins); is {
			if n, said := p.Needs(name); said {
				out, ok = out.Within(n), true
			}
		}
	}
	return out, ok
}

func (all allPins) each(check func(plugin.Pins) error) error {
	for _, p := range all {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

// entryOf returns what is pinned of a plugin, or of a server, whose identity has the digest.
func entryOf(server bool, sha256 string, about wire.Description) (lockfile.Entry, error) {
	definitions, err := lockfile.Digest(about.Tools)
	e := lockfile.Entry{SHA256: sha256, Definitions: definitions, Version: about.Version, Needs: lockfile.NeedsText(about.Needs)}
	if server && err == nil {
		e.SHA256, e.Identity, e.Needs = "", sha256, ""
		e.Tools, err = lockfile.Tools(about.Tools)
	}
	return e, err
}
