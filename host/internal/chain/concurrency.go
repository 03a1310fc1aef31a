package chain

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Slots bound how many calls one provider runs at a time, and how many wait. All tools of the
// provider share them, and callers share them fairly: a slot that is freed goes to the waiting caller
// that runs the fewest calls, so that a caller alone may have all, and two have half each. If as many
// wait as may, the newest call of the caller with most of them makes room for a caller with fewer.
type Slots struct {
	most  int // running calls
	queue int // waiting calls

	mu      sync.Mutex
	running int
	waiting int // only if as many run as may
	turns   uint64
	callers map[string]*slotCaller
	last    *slotCaller // that ran a call, which often runs the next
}

// slotCaller is what one caller has of slots. Guarded by the mutex of the slots.
type slotCaller struct {
	slots   *Slots
	key     string
	running int
	waiting []*turn
}

// turn is a call that waits.
type turn struct {
	number uint64
	keeps  bool          // it is not refused any more
	over   chan struct{} // closed when it runs, or is refused
	runs   bool
}

// maxRemembered is how many callers are remembered between their calls.
const maxRemembered = 64

// NewSlots returns slots for the given numbers of running and waiting calls.
// Running 0 or less means no limit.
func NewSlots(running, waiting int) *Slots {
	if running <= 0 {
		return nil
	}
	return &Slots{most: running, queue: max(waiting, 0), callers: map[string]*slotCaller{}}
}

// Waiting returns how many calls wait for a slot. Nil slots have no queue.
func (s *Slots) Waiting() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Concurrency holds a slot while a call runs. Nil slots skip the step. A call that is made in one which
// has a slot needs none: if it waited for those that wait for it, none would end.
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
			t := TraceFrom(ctx)
			if s.isWithin(t) {
				return next(ctx, call)
			}
			c, err := s.take(ctx, t, call)
			if err != nil {
				return tool.Result{}, err
			}
			if t != nil && t.within == nil { // once: what the call began reads it
				t.within = s
			}
			if a := askingFrom(ctx); a != nil {
				turn := a.turn.Load()
				turn.hold(c)
				defer turn.letGo()
				return next(ctx, call)
			}
			if t == nil {
				defer c.release()
				return next(ctx, call)
			}
			t.held = c
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

// isWithin reports whether the call was made in one that took a slot.
func (s *Slots) isWithin(t *Trace) bool {
	for ; t != nil; t = t.outer {
		if t.outer != nil && t.outer.within == s {
			return true
		}
	}
	return false
}

// take takes a slot for a call, or waits for one.
func (s *Slots) take(ctx context.Context, t *Trace, call tool.Call) (*slotCaller, error) {
	key := ""
	if t != nil && t.Caller != nil {
		key = t.Caller.Key
	}
	s.mu.Lock()
	c := s.caller(key)
	if s.running < s.most {
		s.run(c)
		s.mu.Unlock()
		return c, nil
	}
	if s.waiting >= s.queue && !s.makeRoom(c) {
		defer s.mu.Unlock()
		defer s.forget(c)
		return nil, refuse(callstage.Limit, tool.CodeResourceExhausted, call.Name, s.busy(call.Name, c),
			"try again when some have ended")
	}
	ahead, own := s.running+s.waiting, c.running+len(c.waiting)
	w := s.line(c, false)
	s.mu.Unlock()
	if t != nil {
		t.phases.Ahead, t.phases.Own = ahead, own
		defer t.waits(atQueued, &t.phases.Queued)()
	}
	if err := s.await(ctx, c, w); err != nil {
		return nil, refuse(callstage.Limit, tool.CodeOf(err), call.Name,
			fmt.Sprintf("the call of tool %s ended while it waited for a slot: %v", call.Name, deadline.Cause(ctx)),
			"").Because(err)
	}
	if !w.runs {
		s.mu.Lock()
		defer s.mu.Unlock()
		defer s.forget(c)
		return nil, refuse(callstage.Limit, tool.CodeResourceExhausted, call.Name,
			s.busy(call.Name, c)+": the call gave its place to another caller", "make fewer calls at a time")
	}
	return c, nil
}

// busy says that the slots are full, and how many calls of them are the caller's own: others have no
// names here. The caller holds mu.
func (s *Slots) busy(name string, c *slotCaller) string {
	return fmt.Sprintf("tool %s is busy: %d calls run and %d wait, of which this caller has %d and %d",
		name, s.running, s.waiting, c.running, len(c.waiting))
}

// retake takes a slot again for a call that gave its own back to wait for an answer. It waits
// like other calls, and is never refused.
func (c *slotCaller) retake(ctx context.Context) (*slotCaller, error) {
	s := c.slots
	s.mu.Lock()
	c = s.caller(c.key) // it may have been forgotten
	if s.running < s.most {
		s.run(c)
		s.mu.Unlock()
		return c, nil
	}
	w := s.line(c, true)
	s.mu.Unlock()
	return c, s.await(ctx, c, w)
}

// await waits until a turn is over.
func (s *Slots) await(ctx context.Context, c *slotCaller, w *turn) error {
	select {
	case <-w.over:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.over: // meanwhile
		if w.runs {
			s.end(c)
		}
	default:
		c.waiting = slices.DeleteFunc(c.waiting, func(other *turn) bool { return other == w })
		s.waiting--
		s.forget(c)
	}
	return ctx.Err()
}

// release gives a slot back. If calls wait, one of them gets it.
func (c *slotCaller) release() {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	c.slots.end(c)
}

// The rest is called with mu held.

// caller returns what a caller has.
func (s *Slots) caller(key string) *slotCaller {
	if s.last != nil && s.last.key == key {
		return s.last
	}
	c := s.callers[key]
	if c == nil {
		c = &slotCaller{slots: s, key: key}
		s.callers[key] = c
	}
	return c
}

// forget drops a caller that has nothing, if there are many.
func (s *Slots) forget(c *slotCaller) {
	if c.running == 0 && len(c.waiting) == 0 && len(s.callers) > maxRemembered && s.callers[c.key] == c {
		if delete(s.callers, c.key); s.last == c {
			s.last = nil
		}
	}
}

func (s *Slots) run(c *slotCaller) {
	s.running++
	c.running++
	s.last = c
}

// end counts out a call that ran, and gives its slot to the caller that runs the fewest of those that
// wait; to the one that waits longest, of several.
func (s *Slots) end(c *slotCaller) {
	s.running--
	c.running--
	var next *slotCaller
	if s.waiting > 0 {
		for _, other := range s.callers {
			if len(other.waiting) > 0 && (next == nil || other.running < next.running ||
				other.running == next.running && other.waiting[0].number < next.waiting[0].number) {
				next = other
			}
		}
	}
	if next != nil {
		w := next.waiting[0]
		next.waiting = next.waiting[1:]
		s.waiting--
		s.run(next)
		w.runs = true
		close(w.over)
	}
	s.forget(c)
}

// line lets a call wait.
func (s *Slots) line(c *slotCaller, keeps bool) *turn {
	s.turns++
	w := &turn{number: s.turns, keeps: keeps, over: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	s.waiting++
	return w
}

// makeRoom refuses the newest waiting call of the caller with most of them, if it would still have as
// many as c with one more.
func (s *Slots) makeRoom(c *slotCaller) bool {
	most := c
	for _, other := range s.callers {
		if len(other.waiting) > len(most.waiting) {
			most = other
		}
	}
	if len(most.waiting) <= len(c.waiting)+1 {
		return false
	}
	for i, w := range slices.Backward(most.waiting) {
		if !w.keeps {
			most.waiting = slices.Delete(most.waiting, i, i+1)
			s.waiting--
			close(w.over)
			return true
		}
	}
	return false
}
