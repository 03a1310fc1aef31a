package chain

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Slots bound how many calls one provider runs at a time, and how many wait.
// All tools of the provider share them.
//
// If a slot is free, a call takes and releases it with one atomic operation
// each. Waiting calls receive from the channel: a call that ends while others
// wait sends its slot to the channel, so a later call cannot overtake them.
//
// The sum of running calls and slots in the channel is always the number of
// calls inside, up to most; each operation that changes one number adjusts the
// other.
type Slots struct {
	most   int64         // maximum number of running calls
	queue  int64         // maximum number of waiting calls
	inside atomic.Int64  // calls that run or wait
	freed  chan struct{} // slots handed to waiting calls; never more than most
}

// NewSlots returns slots for the given numbers of running and waiting calls.
// Running 0 or less means no limit.
func NewSlots(running, waiting int) *Slots {
	if running <= 0 {
		return nil
	}
	return &Slots{most: int64(running), queue: int64(max(waiting, 0)), freed: make(chan struct{}, running)}
}

// Waiting returns how many calls wait for a slot. Nil slots have no queue.
func (s *Slots) Waiting() int {
	if s == nil {
		return 0
	}
	return int(max(0, s.inside.Load()-s.most))
}

// Concurrency holds a slot while a call runs. Nil slots skip the step.
//
// # Errors
//
// [tool.CodeResourceExhausted] if the queue is full too; the error of the
// context if it ends while the call waits.
func Concurrency(s *Slots) Middleware {
	if s == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := s.take(ctx, call); err != nil {
				return tool.Result{}, err
			}
			if a := askingFrom(ctx); a != nil {
				turn := a.turn.Load()
				turn.hold(s)
				defer turn.letGo()
				return next(ctx, call)
			}
			t := TraceFrom(ctx)
			if t == nil {
				defer s.release()
				return next(ctx, call)
			}
			t.held = s
			defer t.letGo()
			return next(ctx, call)
		}
	}
}

// Yield gives the slot of a call back for good, and does nothing if it has none. A provider does so
// whose call only waits from then on for what takes place elsewhere. Only the call's goroutine may.
func Yield(ctx context.Context) {
	if a := askingFrom(ctx); a != nil {
		a.turn.Load().letGo()
	} else if t := TraceFrom(ctx); t != nil {
		t.letGo()
	}
}

// letGo gives the slot back, if it is held.
func (t *Trace) letGo() {
	if t.held != nil {
		t.held.release()
		t.held = nil
	}
}

func (s *Slots) take(ctx context.Context, call tool.Call) error {
	runs, ok := s.enter()
	switch {
	case !ok:
		return refuse(tool.StageLimit, tool.CodeResourceExhausted, call.Name,
			fmt.Sprintf("tool %s is busy: %d calls run and %d wait", call.Name, s.most, s.queue),
			"try again when some have ended")
	case runs:
		return nil
	}
	select {
	case <-s.freed:
		return nil
	case <-ctx.Done():
		s.giveUp()
		return refuse(tool.StageLimit, tool.CodeOf(ctx.Err()), call.Name,
			fmt.Sprintf("the call of tool %s ended while it waited for a slot: %v", call.Name, deadline.Cause(ctx)),
			"").Because(ctx.Err())
	}
}

// retake takes a slot again for a call that gave its own back to wait for an answer. It waits
// like other calls, and is never refused.
func (s *Slots) retake(ctx context.Context) error {
	if s.inside.Add(1) <= s.most {
		return nil
	}
	select {
	case <-s.freed:
		return nil
	case <-ctx.Done():
		s.giveUp()
		return ctx.Err()
	}
}

// enter counts a call in, if it may run or wait.
func (s *Slots) enter() (runs, ok bool) {
	for {
		n := s.inside.Load()
		if n >= s.most+s.queue {
			return false, false
		}
		if s.inside.CompareAndSwap(n, n+1) {
			return n < s.most, true
		}
	}
}

// release counts out a call that ran. If another call waits, it gets the slot.
func (s *Slots) release() {
	if s.inside.Add(-1) >= s.most {
		s.freed <- struct{}{}
	}
}

// giveUp counts out a call that waited. If all remaining calls can run, a slot
// for the caller is in the channel or about to be sent; giveUp receives it, as
// no other call will.
func (s *Slots) giveUp() {
	if s.inside.Add(-1) < s.most {
		<-s.freed
	}
}
