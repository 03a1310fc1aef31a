package host

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// WithLockFile runs only what toolhost.lock pins, where there is such a file: what is
// not in it, or other bytes or definitions, does not run. The file is looked at before
// each start; a process that runs goes on. One that cannot be read, or has anything
// wrong in it, pins nothing: nothing runs. Default: nothing is pinned.
func WithLockFile(path string) Option {
	return func(o *options) {
		p := &lockPins{path: path}
		o.pins = p.read
	}
}

// WithPins is WithLockFile with pins of another kind. They are asked for before each
// start: nil means that nothing is pinned, an error that nothing runs.
func WithPins(of func() (plugin.Pins, error)) Option { return func(o *options) { o.pins = of } }

// lockPins are the pins of a file, as it was when it was looked at last.
type lockPins struct {
	path string

	mu   sync.Mutex
	seen manifest.Stamp
	lock *lockfile.Lock
	err  error
}

func (p *lockPins) read() (plugin.Pins, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := manifest.StampOf(p.path); now != p.seen || now == (manifest.Stamp{}) {
		p.seen = now
		p.lock, p.err = lockfile.Read(p.path)
	}
	switch {
	case errors.Is(p.err, fs.ErrNotExist):
		return nil, nil
	case p.err != nil:
		return nil, p.err
	}
	return lockPin{p.lock}, nil
}

// lockPin is a lock as a plugin's start asks it.
type lockPin struct{ lock *lockfile.Lock }

var _ plugin.Lister = lockPin{}

func (p lockPin) Listed(name string) error { return p.lock.CheckListed(name) }

func (p lockPin) Binary(name, sha256 string) error { return p.lock.CheckBinary(name, sha256) }

func (p lockPin) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(sha256, about)
	if err != nil {
		return err
	}
	return p.lock.Check(name, e)
}

func entryOf(sha256 string, about wire.Description) (lockfile.Entry, error) {
	definitions, err := lockfile.Digest(about.Tools)
	return lockfile.Entry{SHA256: sha256, Definitions: definitions, Version: about.Version}, err
}

// Recorder are pins that say yes to all, and remember it, to make a lock of. It is safe
// for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	lock lockfile.Lock
}

var _ plugin.Pins = (*Recorder)(nil)

// Pins are the recorder, for [WithPins].
func (r *Recorder) Pins() (plugin.Pins, error) { return r, nil }

// Binary implements [plugin.Pins].
func (r *Recorder) Binary(string, string) error { return nil }

// Described implements [plugin.Pins].
func (r *Recorder) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(sha256, about)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock.Plugins == nil {
		r.lock.Plugins = map[string]lockfile.Entry{}
	}
	r.lock.Plugins[name] = e
	return nil
}

// Lock is what was remembered.
func (r *Recorder) Lock() *lockfile.Lock {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &lockfile.Lock{Plugins: map[string]lockfile.Entry{}}
	maps.Copy(out.Plugins, r.lock.Plugins)
	return out
}

// mayRecall judges what is remembered of a plugin by the pins, as if it had just been
// started. Where they say no, it is started, which tells why it may not be.
func (h *Host) mayRecall(ctx context.Context, s source, about wire.Description) bool {
	if h.opts.pins == nil {
		return true
	}
	pins, err := h.opts.pins()
	if err != nil {
		return false
	}
	if pins == nil {
		return true
	}
	sum, err := h.manifests.Digest(ctx, s.path)
	if err != nil {
		return false
	}
	return pins.Described(s.owner, hex.EncodeToString(sum[:]), about) == nil
}

// isListed judges a plugin by its name, before its binary is read.
func (h *Host) isListed(owner string) bool {
	if h.opts.pins == nil {
		return true
	}
	pins, err := h.opts.pins()
	if err != nil {
		return false
	}
	l, ok := pins.(plugin.Lister)
	return !ok || l.Listed(owner) == nil
}
