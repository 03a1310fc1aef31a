package host

import (
	"maps"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// WithPins is WithLocks with pins of another kind. They are asked for before each
// start: nil means that nothing is pinned, an error that nothing runs.
func WithPins(of func() (plugin.Pins, error)) Option {
	return func(o *options) { o.operator.pins = func(string) (plugin.Pins, error) { return of() } }
}

// Recorder remembers what the plugins are that pins are asked about, to make a lock of or
// to compare with one. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	found map[string]lockfile.Entry
}

// WithRecorder tells a recorder of every plugin that is about to be started, and what it
// says of itself. What may run is for the pins to say, if there are any.
func WithRecorder(r *Recorder) Option { return func(o *options) { o.operator.recorder = r } }

// Found is what was remembered, by the plugins' names. Of a plugin that was not started,
// or did not say what it is, there is the SHA-256 of its binary alone.
func (r *Recorder) Found() map[string]lockfile.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.found)
}

// Lock pins what was remembered of the plugins that said what they are.
func (r *Recorder) Lock() *lockfile.Lock {
	out := &lockfile.Lock{Plugins: map[string]lockfile.Entry{}}
	for name, e := range r.Found() {
		if e.Definitions != "" {
			out.Plugins[name] = e
		}
	}
	return out
}

// note remembers a plugin. One that is started again with the same bytes has said already
// what it is.
func (r *Recorder) note(name string, e lockfile.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Definitions == "" && r.found[name].SHA256 == e.SHA256 {
		return
	}
	if r.found == nil {
		r.found = map[string]lockfile.Entry{}
	}
	r.found[name] = e
}

// recorded are pins under the eyes of a recorder.
type recorded struct {
	by   *Recorder
	pins plugin.Pins // nil: everything may run
}

func (p recorded) Listed(name string) error {
	if p.pins == nil {
		return nil
	}
	return p.pins.Listed(name)
}

func (p recorded) Binary(name, sha256 string) error {
	p.by.note(name, lockfile.Entry{SHA256: sha256})
	if p.pins == nil {
		return nil
	}
	return p.pins.Binary(name, sha256)
}

func (p recorded) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(sha256, about)
	if err != nil {
		return err
	}
	p.by.note(name, e)
	if p.pins == nil {
		return nil
	}
	return p.pins.Described(name, sha256, about)
}

func entryOf(sha256 string, about wire.Description) (lockfile.Entry, error) {
	definitions, err := lockfile.Digest(about.Tools)
	return lockfile.Entry{SHA256: sha256, Definitions: definitions, Version: about.Version}, err
}
