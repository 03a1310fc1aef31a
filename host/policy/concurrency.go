package policy

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Slots bound how many calls one provider runs at a time, and how many wait for
// their turn. All tools of the provider share them.
type Slots struct {
	free    chan struct{} // one for each call that may run
	waiting atomic.Int64
	queue   int64
}

// NewSlots lets running calls run and waiting ones wait. Running 0 or less means
// no bound.
func NewSlots(running, waiting int) *Slots {
	if running <= 0 {
		return nil
	}
	s := &Slots{free: make(chan struct{}, running), queue: int64(waiting)}
	for range running {
		s.free <- struct{}{}
	}
	return s
}

// Concurrency holds one of the slots while a call runs. Nil leaves the step out.
//
// # Errors
//
// [tool.CodeResourceExhausted] where the queue is full too; the context's end
// while waiting.
func Concurrency(s *Slots) tool.Middleware {
	if s == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := s.take(ctx, call); err != nil {
				return tool.Result{}, err
			}
			defer func() { s.free <- struct{}{} }()
			return next(ctx, call)
		}
	}
}

func (s *Slots) take(ctx context.Context, call tool.Call) error {
	select {
	case <-s.free:
		return nil
	default:
	}
	refuse := func(code tool.Code, msg, hint string, cause error) error {
		return &tool.Error{Code: code, Tool: call.Name, Stage: tool.StageLimit, Unsent: true, Message: msg, Hint: hint, Err: cause}
	}
	if s.waiting.Add(1) > s.queue {
		s.waiting.Add(-1)
		return refuse(tool.CodeResourceExhausted,
			fmt.Sprintf("Tool %s is busy: %d calls run and %d wait", call.Name, cap(s.free), s.queue), "try again when some have ended", nil)
	}
	defer s.waiting.Add(-1)
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return refuse(tool.CodeOf(ctx.Err()), fmt.Sprintf("Tool %s did not get its turn: %v", call.Name, context.Cause(ctx)), "", ctx.Err())
	}
}
