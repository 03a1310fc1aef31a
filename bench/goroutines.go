package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/toolhost/toolhost/bench/internal/bare"
	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host/plugin"
)

var perPlugin = figure{"goroutines_per_plugin", "goroutines of the host per plugin, ten plugins, each called once"}

// goroutines is how many a plugin costs its host.
func goroutines() measurement {
	var dir string
	var names []string
	return measurement{
		name: "goroutines",
		start: func(_ context.Context, b *bench) error {
			for i := range b.sizes.fleet {
				names = append(names, fmt.Sprintf("g%d", i))
			}
			var err error
			dir, err = b.plugins("fleet", "named", names...)
			return err
		},
		measure: func(ctx context.Context, b *bench) error {
			if b.round >= attackRounds {
				return nil
			}
			for _, c := range []plugin.Carrier{plugin.Stream, plugin.Socket} {
				n, err := counted(ctx, func() (func(), error) { return hostedFleet(ctx, c, dir, names) })
				if err != nil {
					return err
				}
				b.add(perPlugin, string(c), n/float64(len(names)))
			}
			n, err := counted(ctx, func() (func(), error) { return bareFleet(ctx, b.binary("bare"), len(names)) })
			if err == nil {
				b.add(perPlugin, bareUnary, n/float64(len(names)))
			}
			return err
		},
		keys: []key{{
			name: "goroutines_per_plugin", about: "host goroutines per plugin, on the carrier with more of them", target: 10,
			value: func(r *results) float64 {
				return max(r.median(perPlugin, toolhostStream), r.median(perPlugin, toolhostSocket))
			},
		}},
	}
}

// counted is by how many goroutines this process grows with a fleet.
func counted(ctx context.Context, fleet func() (end func(), err error)) (float64, error) {
	before, err := settled(ctx)
	if err != nil {
		return 0, err
	}
	end, err := fleet()
	if err != nil {
		return 0, err
	}
	defer end()
	with, err := settled(ctx)
	return float64(with - before), err
}

// settled is the number of goroutines when it has not changed for a while. There
// is not an event to wait for: goroutines end silently.
func settled(ctx context.Context) (int, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	const calm = 20
	last := runtime.NumGoroutine()
	for same := 0; same < calm; {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
		same++
		if n := runtime.NumGoroutine(); n != last {
			last, same = n, 0
		}
	}
	return last, nil
}

func hostedFleet(ctx context.Context, c plugin.Carrier, dir string, names []string) (func(), error) {
	h, err := openHost(ctx, c, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := h.call.do(ctx, work.Named(name)); err != nil {
			h.end()
			return nil, err
		}
	}
	if err := h.on(c); err != nil {
		h.end()
		return nil, err
	}
	return h.end, nil
}

func bareFleet(ctx context.Context, binary string, n int) (func(), error) {
	var started []*bare.Client
	end := func() {
		var all sync.WaitGroup
		for _, c := range started {
			all.Go(c.Close)
		}
		all.Wait()
	}
	for range n {
		c, err := bare.Start(binary)
		if err == nil {
			started = append(started, c)
			err = call(c.Call).do(ctx, work.Small())
		}
		if err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
}
