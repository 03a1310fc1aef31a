package chain

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Slots bound how many calls one provider runs at a time, and how many wait for
// their turn. All tools of the provider share them.
//
// While there is room, a call takes and gives back its slot with one atomic
// operation each. The channel is for those that wait: who leaves while others
// wait puts a turn into it, which is that slot, and nobody who came later can
// take it.
//
// Running calls and turns together are always as many as calls are inside, up to
// most; whoever changes the one number makes good the other.
type Slots struct {
	most   int64         // calls that run
	queue  int64         // calls that wait
	inside atomic.Int64  // both
	turns  chan struct{} // there are never more than most
}

// NewSlots lets running calls run and waiting ones wait. Running 0 or less means
// no bound.
func NewSlots(running, waiting int) *Slots {
	if running <= 0 {
		return nil
	}
	return &Slots{most: int64(running), queue: int64(max(waiting, 0)), turns: make(chan struct{}, running)}
}

// Concurrency holds one of the slots while a call runs. Nil leaves the step out.
//
// # Errors
//
// [tool.CodeResourceExhausted] where the queue is full too; the context's end
// while waiting.
func Concurrency(s *Slots) Middleware {
	if s == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := s.take(ctx, call); err != nil {
				return tool.Result{}, err
			}
			defer s.release()
			return next(ctx, call)
		}
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
	case <-s.turns:
		return nil
	case <-ctx.Done():
		s.giveUp()
		return because(refuse(tool.StageLimit, tool.CodeOf(ctx.Err()), call.Name,
			fmt.Sprintf("tool %s did not get its turn: %v", call.Name, deadline.Cause(ctx)), ""), ctx.Err())
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

// release counts a call out that ran. If one waits, the slot is its turn now.
func (s *Slots) release() {
	if s.inside.Add(-1) >= s.most {
		s.turns <- struct{}{}
	}
}

// giveUp counts a call out that waited. If there is room for all that are left,
// its own turn is there, or is on its way here, and nobody else's.
func (s *Slots) giveUp() {
	if s.inside.Add(-1) < s.most {
		<-s.turns
	}
}
