package pluginrun

import (
	"context"
	"sync/atomic"
)

// inflight counts the calls under way, with no lock on their path.
type inflight struct {
	n        atomic.Int64
	draining atomic.Bool
	wake     atomic.Pointer[chan struct{}]
}

// add counts a call, unless no more are taken.
func (f *inflight) add() bool {
	f.n.Add(1)
	if f.draining.Load() { // after the count: refuse and wait look at the two the other way round
		f.done()
		return false
	}
	return true
}

func (f *inflight) done() {
	if f.n.Add(-1) == 0 && f.draining.Load() {
		if c := f.wake.Load(); c != nil {
			select {
			case *c <- struct{}{}:
			default:
			}
		}
	}
}

// refuse takes no more calls.
func (f *inflight) refuse() {
	c := make(chan struct{}, 1)
	f.wake.Store(&c)
	f.draining.Store(true)
}

// wait returns when calls are refused and none is under way, or ctx ends.
func (f *inflight) wait(ctx context.Context) {
	c := f.wake.Load()
	for f.n.Load() > 0 {
		select {
		case <-*c:
		case <-ctx.Done():
			return
		}
	}
}
