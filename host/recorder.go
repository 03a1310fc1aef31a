package host

import (
	"maps"
	"sync"

	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Recorder records which plugins are started and what they say, to make a lock of it or to
// compare it with one. It is safe for concurrent use.
type Recorder struct {
	// Pinned bounds what plugins get while they are recorded: no more than it has of their
	// needs. Nil: it bounds nothing. It must not be changed once plugins are started.
	Pinned *lockfile.Lock

	mu    sync.Mutex
	found map[string]lockfile.Entry
}

// WithRecorder records every plugin that is about to be started, and what it says of
// itself. It does not change what may run.
func WithRecorder(r *Recorder) Option { return func(o *options) { o.operator.recorder = r } }

// Found returns what was recorded, by the plugins' names. A plugin that was not started, or
// did not describe itself, has only the SHA-256 of its binary, or of a server's identity.
func (r *Recorder) Found() map[string]lockfile.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.found)
}

// Lock returns a lock that pins the plugins that described themselves.
func (r *Recorder) Lock() *lockfile.Lock {
	out := &lockfile.Lock{Plugins: map[string]lockfile.Entry{}}
	for name, e := range r.Found() {
		if e.Definitions != "" {
			out.Plugins[name] = e
		}
	}
	return out
}

// note records a plugin. If it is started again with the same bytes, it has described itself
// already.
func (r *Recorder) note(name string, e lockfile.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.found[name]; e.Definitions == "" && before.SHA256 == e.SHA256 && before.Identity == e.Identity {
		return
	}
	if r.found == nil {
		r.found = map[string]lockfile.Entry{}
	}
	r.found[name] = e
}

// recording is a recorder as pins, of plugins or of servers, that refuse nothing.
type recording struct {
	*Recorder

	servers bool
}

func (recording) Listed(string) error { return nil }

// Needs implements [pluginrun.NeedsPins].
func (r recording) Needs(name string) (*tool.Needs, bool) {
	if r.Pinned == nil {
		return nil, false
	}
	return r.Pinned.Needs(name)
}

func (r recording) Binary(name, sha256 string) error {
	e := lockfile.Entry{SHA256: sha256}
	if r.servers {
		e = lockfile.Entry{Identity: sha256}
	}
	r.note(name, e)
	return nil
}

func (r recording) Described(name, sha256 string, about wire.Description) error {
	e, err := entryOf(r.servers, sha256, about)
	if err == nil {
		r.note(name, e)
	}
	return err
}
