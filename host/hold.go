package host

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// holds are the plugins that keep state for a session: as long as it lives, they are
// not stopped for idleness.
type holds struct {
	mu       sync.Mutex
	closed   bool
	releases map[*plugin.Plugin]func()
}

// on has the session hold a plugin from now on.
func (h *holds) on(p *plugin.Plugin) {
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

// holding has the session of each call hold the plugin. Calls of nobody in particular
// hold nothing: that session has no end.
func holding(p *plugin.Plugin, run tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if t := chain.TraceFrom(ctx); t != nil {
			if s, ok := t.Caller.(*Session); ok && s != s.host.anonymous {
				s.holds.on(p)
			}
		}
		return run(ctx, call)
	}
}
