package wire

import (
	"context"
	"errors"
	"time"
)

// watch makes the timer fire in time for a call that has until at; zero: for
// ever. One timer watches all calls of a stream: it is set for the earliest, and
// where calls have the same limit, the earliest is set for all that follow until
// it fires. The stream's lock is held.
func (s *Stream) watch(at time.Time) {
	switch {
	case s.wake.IsZero() && s.lead != nil: // it also sees when there are no calls any more
		beat := time.Now().Add(idleAfter)
		if at.IsZero() || at.After(beat) {
			at = beat
		}
	case at.IsZero() || !s.wake.IsZero() && !at.Before(s.wake):
		return
	}
	s.wake = at
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(at), s.tick)
		return
	}
	s.timer.Reset(time.Until(at))
}

var errUnread = errors.New("the plugin does not read what it is sent")

// tick ends the calls that have taken too long, and lets somebody read when there
// were no calls for a while.
func (s *Stream) tick() {
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
		case k.at.IsZero() || k.nobody:
		case !now.Before(k.at):
			late = append(late, number)
			s.release(number, context.DeadlineExceeded)
		case next.IsZero() || k.at.Before(next):
			next = k.at
		}
	}
	switch {
	case !writes:
		s.writing = time.Time{}
	case s.writing.IsZero() || s.write != write:
		s.write, s.writing = write, now
	}
	stuck := writes && now.Sub(s.writing) >= patience
	if end := s.writing.Add(patience); writes && (next.IsZero() || end.Before(next)) {
		next = end
	}
	busy := s.used || s.under.Load() > 0
	s.used = false
	if busy && s.lead != nil {
		if beat := now.Add(idleAfter); next.IsZero() || beat.Before(next) {
			next = beat
		}
	}
	s.wake = next
	if !next.IsZero() {
		s.timer.Reset(time.Until(next))
	}
	tooMany := s.given > unanswered
	s.mu.Unlock()

	switch {
	case stuck:
		s.fail(errUnread)
	case tooMany:
		s.fail(protocolError("%d calls that took too long are not answered", unanswered))
	case !busy && s.lead != nil:
		go s.idle()
	}
	for _, number := range late {
		s.giveUp(number)
	}
	if len(late) > 0 && s.lead != nil {
		s.interrupt() // who reads may be one of them
	}
}
