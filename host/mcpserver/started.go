package mcpserver

import (
	"context"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
)

// startsTime bounds how long a list waits for plugins that are being started: clients of which some never ask
// again see those that are quick.
const startsTime = 800 * time.Millisecond

// starting reports whether plugins are being started for the first time.
func (s *Server) starting() bool {
	select {
	case <-s.opts.Started:
		return false
	default:
		return s.opts.Started != nil
	}
}

// awaitStarts waits a little for the plugins that are being started.
func (s *Server) awaitStarts(ctx context.Context) {
	if !s.starting() {
		return
	}
	t := time.NewTimer(startsTime)
	defer t.Stop()
	select {
	case <-s.opts.Started:
	case <-t.C:
	case <-ctx.Done():
	}
}

// awaitTool waits for a tool that is not known as long as plugins are being started, one of which may have it.
func (c *clientSession) awaitTool(ctx context.Context, name string) {
	for s := c.server; s.starting(); {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if _, ok := s.host.OwnerOf(name); ok || slices.ContainsFunc(c.now().Tools(host.Filter{}), func(t host.Tool) bool {
			return t.Name == name || t.Alias == name // such as those by which it searches
		}) {
			return
		}
		select {
		case <-s.opts.Started:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
