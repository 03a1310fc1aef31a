package link_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// remote is a set of tools that is called over a link.
type remote struct {
	*wire.Stream
	set *tool.Set
}

func (r *remote) List(ctx context.Context) ([]tool.Definition, error) { return r.set.List(ctx) }
func (r *remote) Close(context.Context) error                         { return r.Stream.Close() }

func overLink(t testing.TB, bus *bus, tools ...tool.Tool) *remote {
	t.Helper()
	caller, server, _, _ := bus.pair(t)
	set := require.Must(tool.NewSet(tools...))(t)
	served := make(chan error, 1)
	go func() { served <- (&wire.Server{Provider: set}).Serve(context.WithoutCancel(t.Context()), server) }()
	s := wire.NewStream(caller, wire.StreamHooks{Asks: true})
	t.Cleanup(func() {
		_ = s.Close()
		assert.NoError(t, <-served)
	})
	return &remote{s, set}
}

// Calls over a link behave as those of a plugin do.
func TestCalls(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 64<<10)
	tooltest.Run(t, func(t *testing.T) tool.Provider { return overLink(t, bus, fixture.Tools()...) })
}
