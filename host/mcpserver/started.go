package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
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

// awaited is what a list says of the plugins that are being started: their names, to a client on standard input or the
// socket, and to others that there are some.
func (c *clientSession) awaited() any {
	names := []string{}
	for _, p := range c.server.host.Plugins() {
		if p.State == plugin.Starting {
			names = append(names, p.Name)
		}
	}
	if c.info.Transport == "http" || len(names) == 0 {
		return true
	}
	return names
}

// searchTime is the same for a search, whose answer a model believes.
const searchTime = 10 * time.Second

// awaitStarts waits for the plugins that are being started, and not for longer than d.
func (s *Server) awaitStarts(ctx context.Context, d time.Duration) {
	if !s.starting() {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.opts.Started:
	case <-t.C:
	case <-ctx.Done():
	}
}

// awaitTool waits for a tool that is not known as long as plugins are being started, one of which may have it: the
// one that is called, or that a call of the session's own tools names.
func (c *clientSession) awaitTool(ctx context.Context, called *mcp.CallToolParamsRaw) {
	name, s := called.Name, c.server
	for s.starting() {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if _, ok := s.host.OwnerOf(name); ok {
			return
		}
		if name == called.Name && slices.ContainsFunc(c.now().Tools(host.Filter{}), func(t host.Tool) bool {
			return t.Name == name || t.Alias == name
		}) {
			var meant struct{ Name string }
			if json.Unmarshal(called.Arguments, &meant) != nil || meant.Name == "" || meant.Name == name { // it is a search
				s.awaitStarts(ctx, searchTime)
				return
			}
			name = meant.Name
			continue
		}
		select {
		case <-s.opts.Started:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
