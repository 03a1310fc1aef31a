package host

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// holds are the plugins and providers that keep state for a session: as long as the session
// lives, they are not stopped for idleness, and when it and its calls have ended, they are told.
type holds struct {
	mu     sync.Mutex
	closed atomic.Bool // set with mu held
	held   map[roster.Keeper]*held
}

// held is a plugin or a provider that a session has called.
type held struct {
	release func()
	running int // calls
}

// begin holds a keeper from now on. The caller calls end when its call has ended.
func (h *holds) begin(k roster.Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.held[k]
	if one == nil {
		if h.held == nil {
			h.held = map[roster.Keeper]*held{}
		}
		one = &held{release: k.Hold()}
		h.held[k] = one
	}
	one.running++
}

// end ends a call. The last one of a session that has ended lets go of the keeper.
func (h *holds) end(k roster.Keeper, session string) {
	h.mu.Lock()
	one := h.held[k]
	one.running--
	last := one.running == 0 && h.closed.Load()
	if last {
		delete(h.held, k)
		one.release()
	}
	h.mu.Unlock()
	if last {
		latest(k).EndSession(session)
	}
}

// plugins returns the names, sorted, of the keepers that are held.
func (h *holds) plugins() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := map[string]bool{}
	for k := range h.held {
		names[k.Name()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// releaseAll ends the session: keepers on which none of its calls runs are let go of now.
func (h *holds) releaseAll(session string) {
	told := map[roster.Keeper]bool{}
	h.mu.Lock()
	h.closed.Store(true)
	for k, one := range h.held {
		if one.running == 0 {
			delete(h.held, k)
			one.release()
			told[latest(k)] = true
		}
	}
	h.mu.Unlock()
	for k := range told { // which may be a provider's code
		k.EndSession(session)
	}
}

// latest returns what takes the calls of a keeper now: of a plugin, its latest upgrade.
func latest(k roster.Keeper) roster.Keeper {
	if p, ok := k.(*pluginrun.Plugin); ok {
		return p.Latest()
	}
	return k
}
