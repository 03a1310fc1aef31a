package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/bench/internal/work"
)

var (
	quietSmall  = figure{"small_quiet_p99_us", "small call, p99, plugin otherwise idle, µs"}
	behindSmall = figure{"small_behind_large_p99_us", "small call, p99, while three callers get 8 MiB results, µs"}
)

// largeCallers is how many callers get large results while a small call is timed.
const largeCallers = 3

// behindLarge is a small call while large results come from the same plugin.
func behindLarge() measurement {
	return measurement{
		name: "behind-large",
		measure: func(ctx context.Context, b *bench) error {
			for _, name := range []string{bareUnary, toolhostStream, toolhostSocket} {
				if err := b.measureBehind(ctx, b.variant(name)); err != nil {
					return err
				}
			}
			return nil
		},
		keys: []key{{
			name: "p99_behind_large", about: "a small call while 8 MiB results stream, its p99 against its quiet p99, socket", target: 6,
			value: func(r *results) float64 { return r.over(behindSmall, toolhostSocket, quietSmall, toolhostSocket) },
		}},
	}
}

func (b *bench) measureBehind(ctx context.Context, v *variant) error {
	small := slot{job: work.Small(), callers: 1, length: 400 * time.Millisecond, least: 10}
	quiet, err := b.drive(ctx, v, small)
	if err != nil {
		return err
	}
	stop := flood(ctx, v)
	small.length *= 2 // fewer calls fit in
	behind, err := b.drive(ctx, v, small)
	if failed := stop(); err == nil {
		err = failed
	}
	if err == nil {
		b.add(quietSmall, v.name, quiet.p99())
		b.add(behindSmall, v.name, behind.p99())
	}
	return err
}

// flood has callers get large results until stop is called. It returns when each
// has got one.
func flood(ctx context.Context, v *variant) (stop func() error) {
	ctx, fail := context.WithCancelCause(ctx)
	var enough atomic.Bool
	var under, first sync.WaitGroup
	first.Add(largeCallers)
	for range largeCallers {
		under.Go(func() {
			arrived := sync.OnceFunc(first.Done)
			defer arrived()
			c, err := v.dial(ctx)
			if err == nil {
				var times []time.Duration
				err = repeat(ctx, c, work.Sized(work.Large), &times, func(time.Time) bool {
					arrived()
					return enough.Load()
				})
			}
			if err != nil {
				fail(err)
			}
		})
	}
	first.Wait()
	return func() error {
		enough.Store(true)
		under.Wait()
		err := context.Cause(ctx)
		fail(nil)
		return err
	}
}
