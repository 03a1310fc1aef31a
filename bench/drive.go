package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/bench/internal/stats"
	"github.com/toolhost/toolhost/bench/internal/work"
)

// slot is a stretch of calls.
type slot struct {
	job     work.Job
	callers int
	length  time.Duration
	// least is how many calls each caller makes, however long they take.
	least int
}

// driven is the outcome of a slot.
type driven struct {
	latencies []time.Duration // of all callers, sorted
	elapsed   time.Duration
	cpu       time.Duration // of this process and the child
	child     time.Duration // of the child alone
}

func (d driven) p50() float64 { return microseconds(stats.Quantile(d.latencies, .50)) }
func (d driven) p99() float64 { return microseconds(stats.Quantile(d.latencies, .99)) }

// rate is calls in a second.
func (d driven) rate() float64 { return float64(len(d.latencies)) / d.elapsed.Seconds() }

// each is CPU time in microseconds a call.
func (d driven) each() float64 { return microseconds(d.cpu) / float64(len(d.latencies)) }

// drive runs a slot, after a warm-up.
func (b *bench) drive(ctx context.Context, v *variant, s slot) (driven, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the callers' connections end with it
	s.length = time.Duration(float64(s.length) * b.sizes.slot)
	calls := make([]call, s.callers)
	for i := range calls {
		var err error
		if calls[i], err = v.dial(ctx); err != nil {
			return driven{}, fmt.Errorf("%s: %w", v.name, err)
		}
	}
	if b.sizes.warm > 0 {
		before := s
		before.length, before.least = time.Duration(float64(s.length)*b.sizes.warm), 1
		if _, err := pace(ctx, calls, before); err != nil {
			return driven{}, fmt.Errorf("%s, warming up: %w", v.name, err)
		}
	}
	runtime.GC() // what the one before left behind is not this one's cost
	own, child, err := cpuTimes(v.pid)
	if err != nil {
		return driven{}, err
	}
	d, err := pace(ctx, calls, s)
	if err != nil {
		return driven{}, fmt.Errorf("%s: %w", v.name, err)
	}
	ownAfter, childAfter, err := cpuTimes(v.pid)
	d.child = childAfter - child
	d.cpu = ownAfter - own + d.child
	return d, err
}

// cpuTimes is the CPU time that this process and another have used.
func cpuTimes(pid int) (own, other time.Duration, err error) {
	own, err = cpuTime(os.Getpid())
	if err == nil {
		other, err = cpuTime(pid)
	}
	return own, other, err
}

// pace has all callers call, each with a goroutine and a context of its own, as
// callers have. The first that fails ends the others.
func pace(ctx context.Context, calls []call, s slot) (driven, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	gate := make(chan struct{})
	times := make([][]time.Duration, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		times[i] = make([]time.Duration, 0, 1<<12)
		all.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			<-gate
			begin := time.Now()
			done := func(now time.Time) bool { return now.Sub(begin) >= s.length && len(times[i]) >= s.least }
			if err := repeat(ctx, c, s.job, &times[i], done); err != nil {
				fail(err)
			}
		})
	}
	begin := time.Now()
	close(gate)
	all.Wait()
	d := driven{elapsed: time.Since(begin)}
	if err := context.Cause(ctx); err != nil {
		return d, err
	}
	d.latencies = slices.Concat(times...)
	slices.Sort(d.latencies)
	return d, nil
}

// repeat calls until done, and notes how long each call took. The end of one is
// the beginning of the next.
func repeat(ctx context.Context, c call, j work.Job, times *[]time.Duration, done func(time.Time) bool) error {
	for last := time.Now(); ; {
		if err := c.do(ctx, j); err != nil {
			return err
		}
		now := time.Now()
		*times = append(*times, now.Sub(last))
		if done(now) {
			return nil
		}
		last = now
	}
}
