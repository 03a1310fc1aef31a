package mcpserver

import (
	"context"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/test/require"
)

// leveled is a mounted server of which only the level of its log is of interest.
type leveled struct {
	mcpwire.Handle
	mcpwire.Source
	mu    sync.Mutex
	level mcp.LoggingLevel
	told  chan mcp.LoggingLevel
}

func (l *leveled) Name() string                         { return "leveled" }
func (l *leveled) Notify(mcpwire.Notices) (stop func()) { return func() {} }

func (l *leveled) SetLevel(_ context.Context, level mcp.LoggingLevel) error {
	l.mu.Lock()
	l.level = level
	l.mu.Unlock()
	select {
	case l.told <- level:
	default:
	}
	return nil
}

func (l *leveled) is() mcp.LoggingLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.level
}

func newLeveled() *leveled {
	u := &leveled{told: make(chan mcp.LoggingLevel, 1)}
	u.Handle = mcpwire.HandleOf(u)
	return u
}

// A server that is mounted after a client has said its level is told it, too.
func TestLevelOfALateServer(t *testing.T) {
	t.Parallel()
	late, there := newLeveled(), []Upstream{newLeveled()}
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	defer h.Close(context.Background()) //nolint:errcheck // it has no plugins
	s := require.Must(New(h, Options{
		Upstreams: func() []Upstream { return there },
		Session:   func(context.Context, Client) (*host.Session, error) { return h.Session(), nil },
	}))(t)
	s.setLevel(t.Context(), &mcp.ServerSession{}, "info")
	there = append(there, late)
	s.relays() // as after each change of the host's tools
	if level := <-late.told; level != "info" {
		t.Errorf("it is told %q", level)
	}
	require.NoError(t, s.Close())
}

// The level that one client wants travels with the requests of all, so that only those of the
// protocol count.
func TestLevelsOfTheProtocol(t *testing.T) {
	t.Parallel()
	u := newLeveled()
	s := &Server{
		relayed: relayedServers{all: map[Upstream]*relay{}}, levels: map[*mcp.ServerSession]mcp.LoggingLevel{},
		opts: Options{Upstreams: func() []Upstream { return []Upstream{u} }}, ended: t.Context(),
	}
	for _, c := range []struct{ wanted, level mcp.LoggingLevel }{
		{"d", ""}, {"nonsense", ""}, {"error", "error"}, {"in", "error"}, {"info", "info"}, {"emergency", "info"},
	} {
		if s.setLevel(t.Context(), nil, c.wanted); u.is() != c.level {
			t.Errorf("after a request with %q, the level is %q", c.wanted, u.is())
		}
		if s.setLevel(t.Context(), &mcp.ServerSession{}, c.wanted); u.is() != c.level {
			t.Errorf("after a session with %q, the level is %q", c.wanted, u.is())
		}
	}
}
