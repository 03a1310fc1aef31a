package host_test

import (
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/grpclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
)

// grpcLines counts what gRPC logs in this process at its default level.
var grpcLines lineCounter

func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, &grpcLines)) }

type lineCounter struct{ n atomic.Int64 }

// Write implements [io.Writer].
func (c *lineCounter) Write(b []byte) (int, error) {
	c.n.Add(1)
	return len(b), nil
}

// What a plugin does below gRPC costs the host little, and leaves nothing.
func TestHostileHTTP2(t *testing.T) { //nolint:paralleltest // it counts
	before := grpcLines.n.Load()
	together(t, 4, []attack{
		refused(hostile.OddSettings, true, "header list size"),
		{mode: hostile.GoAways, on: everyCarrier, each: true, then: func(t *testing.T, s *scene) {
			// A second call ends with the connection, or finds the plugin started again.
			ctx, cancel := context.WithTimeout(t.Context(), ceiling)
			defer cancel()
			s.neighbourAnswers(t, s.answered.Load()+20) // and it goes on sending
			if _, err := s.Execute(ctx, tool.Call{Name: hostile.Tool}); err != nil && tool.CodeOf(err) != tool.CodeCrashed {
				t.Error(err)
			}
		}},
		{mode: hostile.Pings, on: everyCarrier, then: func(t *testing.T, s *scene) {
			if rate, err := strconv.Atoi(s.result.Text()); err != nil || rate > 60_000 {
				t.Errorf("it sent %q pings a second", s.result.Text())
			}
		}},
	})
	if n := grpcLines.n.Load() - before; n > 100 {
		t.Errorf("gRPC logged %d lines", n)
	}
}

// Unary results are bounded together: what is too much is refused at once.
func TestHostileUnaryHold(t *testing.T) { //nolint:paralleltest // it counts
	s := newStreet(t, []plugintest.Mode{hostile.UnaryHold}, host.WithDefaults(func(all *plugin.Settings) {
		all.Carrier = plugin.Unary
		all.Limits.Running, all.Limits.Waiting = 64, 64
	}))
	require.NoError(t, s.move(t, hostile.UnaryHold))
	const callers = 24
	var refused, late atomic.Int64
	most := peak(func() {
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 2*ceiling)
		defer cancel()
		for range callers {
			all.Go(func() {
				switch _, err := s.Execute(ctx, tool.Call{Name: hostile.Tool}); tool.CodeOf(err) {
				case tool.CodeResourceExhausted:
					if refused.Add(1) == callers-4 {
						cancel() // the others wait for ever
					}
				case tool.CodeDeadlineExceeded, tool.CodeCanceled:
					late.Add(1)
				default:
					t.Errorf("it ended with %v", err)
				}
			})
		}
		all.Wait()
	})
	t.Logf("%d callers took %d MiB; %d were refused", callers, most>>20, refused.Load())
	if most > 600<<20 {
		t.Errorf("%d callers took %d MiB", callers, most>>20)
	}
	if late.Load() < 1 || refused.Load() < callers-4 {
		t.Errorf("%d were refused, %d waited to the end", refused.Load(), late.Load())
	}
}
