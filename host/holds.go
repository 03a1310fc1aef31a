package host

import (
	"maps"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
)

// holds are the plugins that keep state for a session: as long as the session lives, they
// are not stopped for idleness, and when it and its calls have ended, they are told.
type holds struct {
	mu     sync.Mutex
	closed bool
	held   map[*plugin.Plugin]*held
}

// held is a plugin that a session has called.
type held struct {
	release func()
	running int // calls
}

// begin holds a plugin from now on. The caller calls end when its call has ended.
func (h *holds) begin(p *plugin.Plugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.held[p]
	if one == nil {
		if h.held == nil {
			h.held = map[*plugin.Plugin]*held{}
		}
		one = &held{release: p.Hold()}
		h.held[p] = one
	}
	one.running++
}

// end ends a call. The last one of a session that has ended lets go of the plugin.
func (h *holds) end(p *plugin.Plugin, session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.held[p]
	if one.running--; one.running == 0 && h.closed {
		delete(h.held, p)
		one.release()
		p.Latest().EndSession(session)
	}
}

// plugins returns the names, sorted, of the plugins that are held.
func (h *holds) plugins() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := map[string]bool{}
	for p := range h.held {
		names[p.Name()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// releaseAll ends the session: plugins on which none of its calls runs are let go of now.
func (h *holds) releaseAll(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	told := map[*plugin.Plugin]bool{}
	for p, one := range h.held {
		if one.running > 0 {
			continue
		}
		delete(h.held, p)
		one.release()
		if now := p.Latest(); !told[now] {
			told[now] = true
			now.EndSession(session)
		}
	}
}
