package wire

import (
	"context"
	"errors"
	"time"
)

// armTimer makes the timer fire no later than at, a call's deadline, or leaves the timer
// unchanged if the call has none. One timer serves all calls of a stream. It is set for
// the earliest deadline, so calls with the same timeout set it only once until it fires.
// The caller holds s.mu.
func (s *Stream) armTimer(at time.Time) {
	switch {
	case s.timerAt.IsZero() && s.readToken != nil: // onTimer also detects that there are no more calls
		idleAt := time.Now().Add(idleAfter)
		if at.IsZero() || at.After(idleAt) {
			at = idleAt
		}
	case at.IsZero() || !s.timerAt.IsZero() && !at.Before(s.timerAt):
		return
	}
	s.timerAt = at
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(at), s.onTimer)
		return
	}
	s.timer.Reset(time.Until(at))
}

var errUnread = errors.New("the plugin does not read its input")

// onTimer completes the calls whose deadlines have passed, and starts the idle reader if
// there have been no calls for a while.
func (s *Stream) onTimer() {
	now := time.Now()
	var next time.Time
	var late []uint32
	write, writes := s.out.callerWrites()
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	for number, k := range s.calls {
		switch {
		case k.deadline.IsZero() || k.abandoned:
		case !now.Before(k.deadline):
			late = append(late, number)
			s.completeEarly(number, context.DeadlineExceeded)
		case next.IsZero() || k.deadline.Before(next):
			next = k.deadline
		}
	}
	switch {
	case !writes:
		s.callerWriteSince = time.Time{}
	case s.callerWriteSince.IsZero() || s.callerWrite != write:
		s.callerWrite, s.callerWriteSince = write, now
	}
	stuck := writes && now.Sub(s.callerWriteSince) >= callerWriteTimeout
	if end := s.callerWriteSince.Add(callerWriteTimeout); writes && (next.IsZero() || end.Before(next)) {
		next = end
	}
	busy := s.used || s.awaited.Load() > 0
	s.used = false
	if busy && s.readToken != nil {
		if idleAt := now.Add(idleAfter); next.IsZero() || idleAt.Before(next) {
			next = idleAt
		}
	}
	s.timerAt = next
	if !next.IsZero() {
		s.timer.Reset(time.Until(next))
	}
	tooMany := s.abandoned > maxAbandoned
	s.mu.Unlock()

	switch {
	case stuck:
		s.fail(errUnread)
	case tooMany:
		s.fail(protocolError("%d calls that took too long are not answered", maxAbandoned))
	case !busy && s.readToken != nil:
		go s.idle()
	}
	for _, number := range late {
		s.cancelRemote(number)
	}
	if len(late) > 0 && s.readToken != nil {
		s.interrupt() // the reader may be one of them
	}
}
