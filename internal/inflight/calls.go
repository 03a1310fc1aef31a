// Package inflight counts the calls of what may have to wait for their end before it is closed.
package inflight

import (
	"context"
	"sync/atomic"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Calls counts the calls under way, with no lock on their path. The zero value takes calls.
type Calls struct {
	n        atomic.Int64
	draining atomic.Bool
	wake     atomic.Pointer[chan struct{}]
}

// Add counts a call, unless no more are taken. The caller calls Done if it is.
func (c *Calls) Add() bool {
	c.n.Add(1)
	if c.draining.Load() { // after the count: Refuse and Wait look at the two the other way round
		c.Done()
		return false
	}
	return true
}

// Done counts out a call.
func (c *Calls) Done() {
	if c.n.Add(-1) == 0 && c.draining.Load() {
		if wake := c.wake.Load(); wake != nil {
			ring(*wake)
		}
	}
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// Running returns how many calls are under way.
func (c *Calls) Running() int { return int(c.n.Load()) }

// Draining reports whether no more calls are taken.
func (c *Calls) Draining() bool { return c.draining.Load() }

// Refuse takes no more calls.
func (c *Calls) Refuse() {
	wake := make(chan struct{}, 1)
	c.wake.CompareAndSwap(nil, &wake)
	c.draining.Store(true)
}

// Wait returns when calls are refused and none is under way, or ctx ends. Call Refuse before.
func (c *Calls) Wait(ctx context.Context) {
	wake := *c.wake.Load()
	for c.n.Load() > 0 {
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
	ring(wake) // others wait too
}

// Count returns a handler whose calls are counted, and end with what refused returns when no more are
// taken. A nil handler stays nil.
func (c *Calls) Count(run tool.Handler, refused func(name string) error) tool.Handler {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if !c.Add() {
			return tool.Result{}, refused(call.Name)
		}
		defer c.Done()
		return run(ctx, call)
	}
}
