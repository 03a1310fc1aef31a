package plugin

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

// begin counts a call, unless no more are taken.
func (f *inflight) begin() bool {
	f.n.Add(1)
	if f.draining.Load() { // after the count: drain looks at both the other way round
		f.end()
		return false
	}
	return true
}

func (f *inflight) end() {
	if f.n.Add(-1) == 0 && f.draining.Load() {
		if c := f.wake.Load(); c != nil {
			select {
			case *c <- struct{}{}:
			default:
			}
		}
	}
}

// drain takes no more calls, and returns when no call is under way, or ctx ends.
func (f *inflight) drain(ctx context.Context) {
	c := make(chan struct{}, 1)
	f.wake.Store(&c)
	f.draining.Store(true)
	for f.n.Load() > 0 {
		select {
		case <-c:
		case <-ctx.Done():
			return
		}
	}
}
