package wire

import (
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
)

// standing is the time of a call that stands still, or has. It is guarded by the lock of its stream.
type standing struct {
	call   *pending
	left   time.Duration // for which it still may
	since  time.Time     // that it does; zero: it does not
	goesOn func()        // has the call's context go on
	told   func()        // tells the caller that it goes on
}

// waits has the time of a call stand still, or go on.
//
// # Errors
//
// waits returns [ErrProtocol] for what is neither.
func (s *Stream) waits(number uint32, b []byte) error {
	if len(b) != 1 || b[0] > 1 {
		return protocolError("a sign that a call waits, of %d bytes", len(b))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	if k == nil || k.abandoned || s.hooks.Waits <= 0 {
		return nil
	}
	if k.standing == nil {
		k.standing = &standing{call: k, left: s.hooks.Waits}
	}
	if b[0] == 1 {
		k.standing.stand(time.Now())
		return nil
	}
	k.standing.goOn(time.Now())
	s.armTimer(k.deadline)
	return nil
}

// stand has the time stand still, for as long as is left.
func (w *standing) stand(now time.Time) {
	k := w.call
	if !w.since.IsZero() || w.left <= 0 {
		return
	}
	w.since = now
	if !k.deadline.IsZero() {
		k.deadline = k.deadline.Add(w.left)
	}
	if k.limit != nil {
		resume := k.limit.Pause()
		over := time.AfterFunc(w.left, resume)
		w.goesOn = func() { over.Stop(); resume() }
	}
	if tell := callctx.Get[func(string) func()](k.caller, callctx.Waits{}); tell != nil {
		w.told = tell("waits for approval on another host")
	}
}

// goOn has the time go on, if it stands still.
func (w *standing) goOn(now time.Time) {
	if w.since.IsZero() {
		return
	}
	w.left, w.since = max(w.left-now.Sub(w.since), 0), time.Time{}
	if k := w.call; !k.deadline.IsZero() {
		k.deadline = k.deadline.Add(-w.left)
	}
	if w.goesOn != nil {
		w.goesOn()
	}
	if w.told != nil {
		go w.told() // which may wait for the caller
	}
	w.goesOn, w.told = nil, nil
}
