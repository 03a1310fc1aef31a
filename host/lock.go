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

// Lock is a toolhost.lock, and the plugins that it pins. The file is looked at before
// each start; a process that runs goes on. A file that cannot be read, or has anything
// wrong in it, pins nothing: nothing runs.
type Lock struct {
	// File is its path.
	File string
	// Dirs are the plugin directories whose plugins it pins. None: all of them.
	Dirs []string
	// Required keeps plugins from running while the file is missing. A file that was
	// there once is required from then on: removing it takes no pin away.
	Required bool
	// Seen, unless it is nil, is called when the file is there for the first time.
	Seen func()
}

// WithLocks runs only what locks pin. A plugin has to be as each of the locks pins it
// that are for its directory. Default: none, and nothing is pinned.
func WithLocks(locks ...Lock) Option {
	return func(o *options) { o.operator.locks, o.operator.pins = locks, pinsOf(locks) }
}

// WithLockFile is WithLocks with one file, for all plugins, that need not be there.
func WithLockFile(path string) Option { return WithLocks(Lock{File: path}) }

// pinsOf are the pins of locks, by a plugin's directory.
func pinsOf(locks []Lock) func(dir string) (plugin.Pins, error) {
	files := make([]*lockFile, len(locks))
	for i, l := range locks {
		files[i] = &lockFile{Lock: l}
	}
	return func(dir string) (plugin.Pins, error) {
		var all lockPins
		for _, f := range files {
			if len(f.Dirs) > 0 && !roster.HoldsDir(f.Dirs, dir) {
				continue
			}
			lock, err := f.read()
			if err != nil {
				return nil, err
			}
			if lock != nil {
				all = append(all, lockPin{lock, f.File})
			}
		}
		if all == nil {
			return nil, nil
		}
		return all, nil
	}
}

// lockFile is a lock as it was when it was looked at last.
type lockFile struct {
	Lock

	mu   sync.Mutex
	seen bool
	was  manifest.Stamp
	lock *lockfile.Lock
	err  error
}

// read is what the file pins; nil: it is not there, and need not be.
func (f *lockFile) read() (*lockfile.Lock, error) {
	lock, appeared, err := f.look()
	if appeared && f.Seen != nil {
		f.Seen()
	}
	return lock, err
}

func (f *lockFile) look() (lock *lockfile.Lock, appeared bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := manifest.StampOf(f.File)
	// What was wrong with a file may be mended without a change of its content.
	if now != f.was || f.lock == nil {
		f.was = now
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
		Hint:    "restore it, or pin what is there now: toolhost plugins lock (to run what is not pinned: toolhost plugins lock --off)",
	}
}

// lockPin is a lock as a plugin's start asks it.
type lockPin struct {
	lock *lockfile.Lock
	file string
}

func (p lockPin) Listed(name string) error { return p.refusal(p.lock.CheckListed(name)) }

func (p lockPin) Binary(name, sha256 string) error {
	return p.refusal(p.lock.CheckBinary(name, sha256))
}

func (p lockPin) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(sha256, about)
	if err != nil {
		return err
	}
	return p.refusal(p.lock.Check(name, e))
}

// refusal says which lock it is that refuses.
func (p lockPin) refusal(err error) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.Hint += " (the pins are those of " + p.file + ")"
	return &e
}

// lockPins are locks that all have to agree.
type lockPins []lockPin

func (all lockPins) Listed(name string) error {
	for _, p := range all {
		if err := p.Listed(name); err != nil {
			return err
		}
	}
	return nil
}

func (all lockPins) Binary(name, sha256 string) error {
	for _, p := range all {
		if err := p.Binary(name, sha256); err != nil {
			return err
		}
	}
	return nil
}

func (all lockPins) Described(name, sha256 string, about wire.Description) error {
	for _, p := range all {
		if err := p.Described(name, sha256, about); err != nil {
			return err
		}
	}
	return nil
}
