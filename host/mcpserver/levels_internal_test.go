package mcpserver

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// leveled is a mounted server of which only the level of its log is of interest.
type leveled struct {
	mcpwire.Handle
	mcpwire.Source
	level mcp.LoggingLevel
}

func (l *leveled) Name() string                         { return "leveled" }
func (l *leveled) Notify(mcpwire.Notices) (stop func()) { return func() {} }

func (l *leveled) SetLevel(_ context.Context, level mcp.LoggingLevel) error {
	l.level = level
	return nil
}

// The level that one client wants travels with the requests of all, so that only those of the
// protocol count.
func TestLevelsOfTheProtocol(t *testing.T) {
	t.Parallel()
	u := &leveled{}
	u.Handle = mcpwire.HandleOf(u)
	s := &Server{
		relayed: relayedServers{all: map[Upstream]*relay{}}, levels: map[*mcp.ServerSession]mcp.LoggingLevel{},
		opts: Options{Upstreams: func() []Upstream { return []Upstream{u} }},
	}
	for _, c := range []struct{ wanted, level mcp.LoggingLevel }{
		{"d", ""}, {"nonsense", ""}, {"error", "error"}, {"in", "error"}, {"info", "info"}, {"emergency", "info"},
	} {
		if s.setLevel(t.Context(), nil, c.wanted); u.level != c.level {
			t.Errorf("after a request with %q, the level is %q", c.wanted, u.level)
		}
		if s.setLevel(t.Context(), &mcp.ServerSession{}, c.wanted); u.level != c.level {
			t.Errorf("after a session with %q, the level is %q", c.wanted, u.level)
		}
	}
}
