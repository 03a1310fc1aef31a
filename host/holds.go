package host

import (
	"maps"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
)

// holds are the plugins that keep state for a session: as long as the session lives, they
// are not stopped for idleness.
type holds struct {
	mu       sync.Mutex
	closed   bool
	releases map[*plugin.Plugin]func()
}

// add holds a plugin from now on.
func (h *holds) add(p *plugin.Plugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.releases[p] != nil {
		return
	}
	if h.releases == nil {
		h.releases = map[*plugin.Plugin]func(){}
	}
	h.releases[p] = p.Hold()
}

// plugins returns the names, sorted, of the plugins that are held.
func (h *holds) plugins() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := map[string]bool{}
	for p := range h.releases {
		names[p.Name()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (h *holds) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, release := range h.releases {
		release()
	}
	h.releases = nil
}
