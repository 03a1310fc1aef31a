package pluginrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// onCarriers runs a test with each carrier, as a change of its plugin's Config.
func onCarriers(t *testing.T, name string, f func(t *testing.T, carrier func(*pluginrun.Config))) {
	t.Helper()
	for _, c := range []plugin.Carrier{plugin.Socket, plugin.Stream, plugin.Unary} {
		t.Run(name+" on "+string(c), func(t *testing.T) {
			t.Parallel()
			f(t, func(cfg *pluginrun.Config) { cfg.Carrier = c })
		})
	}
}

// carrierOf is the one that a test runs with.
func carrierOf(change func(*pluginrun.Config)) plugin.Carrier {
	var cfg pluginrun.Config
	change(&cfg)
	return cfg.Carrier
}

func TestConformanceOnCarriers(t *testing.T) {
	t.Parallel()
	onCarriers(t, "conformance", func(t *testing.T, carrier func(*pluginrun.Config)) {
		tooltest.Run(t, func(t *testing.T) tool.Provider { return open(t, plugintest.Fixture, carrier) })
	})
}

// A plugin with the SDK takes each carrier; the default is the socket.
func TestCarrierIsTaken(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p *pluginrun.Plugin, want plugin.Carrier) {
		t.Helper()
		require.Must(p.List(t.Context()))(t)
		assert.Equalf(t, p.Status().Carrier, want, "calls travel on")
	}
	onCarriers(t, "chosen", func(t *testing.T, carrier func(*pluginrun.Config)) {
		check(t, open(t, plugintest.Fixture, carrier), carrierOf(carrier))
	})
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		check(t, open(t, plugintest.Fixture), plugin.Socket)
	})
}

// The host closes the socket of a plugin that does not know about it.
func TestUnknownSocketIsClosed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	p := open(t, plugintest.Unaware)
	_, err := p.Execute(ctx, tool.Call{Name: "unaware.read"})
	assert.ErrorContainsf(t, err, "0 bytes, EOF", "it reads")
	assert.Equalf(t, p.Status().Carrier, plugin.Unary, "calls travel on")
}

// A plugin inherits its sockets and nothing else, and does not see their variables
// any more.
func TestPluginSeesLittleOnCarriers(t *testing.T) {
	t.Parallel()
	onCarriers(t, "sees", func(t *testing.T, carrier func(*pluginrun.Config)) {
		p := open(t, plugintest.Snoop, carrier)
		var seen plugintest.Seen
		require.NoError(t, json.Unmarshal(call(t, p, "snoop.look", "{}").Structured, &seen))
		want := []string{"3 socket:"} // it looks before pluginsdk takes them
		if carrierOf(carrier) == plugin.Socket {
			want = append(want, "4 socket:")
		}
		if !slices.EqualFunc(seen.Files, want, strings.HasPrefix) {
			t.Errorf("the plugin inherited %q", seen.Files)
		}
	})
}

// Results of every size, and quick calls among them, through a real process.
func TestLargeAndSmallOnCarriers(t *testing.T) {
	t.Parallel()
	onCarriers(t, "sizes", func(t *testing.T, carrier func(*pluginrun.Config)) {
		p := open(t, plugintest.Fixture, carrier)
		require.Must(p.List(t.Context()))(t)
		var all sync.WaitGroup
		calls := 24
		if testing.Short() {
			calls = 6 // one of each size: with the race detector, four take 25 s of processors more
		}
		for i := range calls {
			all.Go(func() {
				size := []int{0, 100, 40_000, 140_000, 300_000, 5 << 20}[i%6] // the last is more than gRPC's own bound of 4 MiB
				args := fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("p", size))
				got, err := p.Execute(t.Context(), tool.Call{Name: fixture.EchoTool, Arguments: []byte(args)})
				if err != nil || got.Text() != args {
					t.Errorf("%d bytes: got %d, %v", len(args), len(got.Text()), err)
				}
				if _, err := p.Execute(t.Context(), tool.Call{Name: fixture.BlobTool, Arguments: fmt.Appendf(nil, `{"bytes":%d}`, size)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// What is too large for a message, and what is cancelled, leaves the process
// alone.
func TestProcessSurvivesOnCarriers(t *testing.T) {
	t.Parallel()
	onCarriers(t, "survives", func(t *testing.T, carrier func(*pluginrun.Config)) {
		p := open(t, plugintest.Fixture, carrier)
		require.Must(p.List(t.Context()))(t)
		before := p.Status()
		_, err := p.Execute(t.Context(), tool.Call{Name: fixture.EchoTool, Arguments: make([]byte, 65<<20)})
		assert.Equalf(t, tool.CodeOf(err), tool.CodeResourceExhausted, "65 MiB of arguments: %v", err)
		for i := range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*300*time.Microsecond)
			_, err := p.Execute(ctx, tool.Call{Name: fixture.BlobTool, Arguments: []byte(`{"bytes":4000000}`)})
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cancelled in time %d: %v", i, err)
			}
		}
		call(t, p, fixture.EchoTool, "{}")
		if now := p.Status(); now.PID != before.PID || now.Starts != 1 || now.State != plugin.Ready {
			t.Errorf("the process was ended: %+v, before %+v", now, before)
		}
	})
}
