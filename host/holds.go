package host

import (
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

func (h *holds) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, release := range h.releases {
		release()
	}
	h.releases = nil
}
