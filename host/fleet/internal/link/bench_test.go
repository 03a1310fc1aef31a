package link_test

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const size = 1 << 10 // of a request and of its answer, in bytes

// roundTrip is a request and its answer; callers number the concurrent ones.
type roundTrip func(caller int) error

// bare answers requests of NATS.
func bare(b *testing.B, bus *bus) roundTrip {
	server, caller := bus.connect(b), bus.connect(b)
	require.Must(server.Subscribe("bare", func(m *nats.Msg) { _ = m.Respond(m.Data) }))(b)
	require.NoError(b, server.Flush())
	payload := make([]byte, size)
	return func(int) error {
		_, err := caller.Request("bare", payload, 10*time.Second)
		return err
	}
}

// plain sends requests of a fixed size over a link, whose answers wake their callers.
func plain(b *testing.B, bus *bus) roundTrip {
	caller, server, _, _ := bus.pair(b)
	go func() {
		buf := make([]byte, 32*size)
		have := 0
		for {
			n, err := server.Read(buf[have:])
			if err != nil {
				return
			}
			have += n
			whole := have / size * size
			if whole == 0 {
				continue
			}
			if server.Send(buf[:whole], nil) != nil {
				return
			}
			have = copy(buf, buf[whole:have])
		}
	}()
	var came [callers]chan struct{}
	for i := range came {
		came[i] = make(chan struct{}, 1)
	}
	go func() {
		buf := make([]byte, size)
		for {
			if _, err := io.ReadFull(caller, buf); err != nil {
				return
			}
			came[binary.BigEndian.Uint32(buf)] <- struct{}{}
		}
	}()
	var requests [callers][size]byte
	return func(i int) error {
		binary.BigEndian.PutUint32(requests[i][:], uint32(i))
		if err := caller.Send(requests[i][:], nil); err != nil {
			return err
		}
		<-came[i]
		return nil
	}
}

// calls runs a tool over a link.
func calls(b *testing.B, bus *bus) roundTrip {
	r := overLink(b, bus, tool.Tool{
		Definition: tool.Definition{
			Name: "echo", Description: "Echoes.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object"}`),
		},
		Handler: func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(string(c.Arguments)), nil },
	})
	arguments := []byte(`{"a":"` + strings.Repeat("x", size-8) + `"}`)
	return func(int) error {
		_, err := r.Execute(b.Context(), tool.Call{Name: "echo", Arguments: arguments})
		return err
	}
}

const callers = 64

// BenchmarkRatio compares a link, and calls over a link, with bare requests of NATS: of each in
// turn a part, so that whatever else runs on the machine slows all of them.
func BenchmarkRatio(b *testing.B) {
	bus := newBus(b, 0)
	kinds := []string{"bare", "link", "calls"}
	trips := map[string]roundTrip{"bare": bare(b, bus), "link": plain(b, bus), "calls": calls(b, bus)}
	b.Run("latency", func(b *testing.B) {
		times := map[string][]time.Duration{}
		for b.Loop() {
			for _, kind := range kinds {
				for range 100 {
					start := time.Now()
					require.NoError(b, trips[kind](0))
					times[kind] = append(times[kind], time.Since(start))
				}
			}
		}
		p50 := func(kind string) float64 {
			slices.Sort(times[kind])
			return float64(times[kind][len(times[kind])/2])
		}
		b.ReportMetric(p50("bare"), "ns/bare")
		b.ReportMetric(p50("link")/p50("bare"), "link/bare")
		b.ReportMetric(p50("calls")/p50("bare"), "calls/bare")
	})
	b.Run("throughput", func(b *testing.B) {
		took := map[string]time.Duration{}
		for b.Loop() {
			for _, kind := range kinds {
				start := time.Now()
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						for range 100 {
							if err := trips[kind](i); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				took[kind] += time.Since(start)
			}
		}
		b.ReportMetric(float64(b.N*callers*100)/took["bare"].Seconds(), "bare/s")
		b.ReportMetric(took["bare"].Seconds()/took["link"].Seconds(), "link/bare")
		b.ReportMetric(took["bare"].Seconds()/took["calls"].Seconds(), "calls/bare")
	})
}

var _ wire.Carrier = (*link.Link)(nil)
