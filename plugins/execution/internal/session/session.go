// Package session keeps what callers have declared and evaluated. Start with
// [Sessions.Get].
package session

import (
	"context"
	"sync"
)

// Session is what one caller has done so far. Hold it with [Session.Lock] to use
// its other methods and fields: calls of one session run one after the other.
type Session struct {
	Forms   int // how many there were
	History []Entry
	Last    *Failure // nil if no form has failed

	lock   chan struct{}
	used   int64             // the value of [Sessions.clock] at the last call
	scopes map[string]*Scope // by import path
}

// maxSessions bounds how many sessions are kept. One takes at most half a megabyte.
const maxSessions = 256

// Sessions keeps the sessions that were used last. It is safe for concurrent use,
// and its zero value is ready.
type Sessions struct {
	mu    sync.Mutex
	known map[string]*Session
	clock int64
}

// New returns an empty session.
func New() *Session {
	return &Session{lock: make(chan struct{}, 1), scopes: map[string]*Scope{}}
}

// Get returns the session with an ID. Callers without one cannot be told apart,
// so each of their calls gets a session that is forgotten after it.
func (s *Sessions) Get(id string) *Session {
	if id == "" {
		return New()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*Session{}
	}
	s.clock++
	found := s.known[id]
	if found == nil {
		found = New()
		s.known[id] = found
	}
	found.used = s.clock
	for len(s.known) > maxSessions {
		oldest := id
		for other, v := range s.known {
			if v.used < s.known[oldest].used {
				oldest = other
			}
		}
		delete(s.known, oldest)
	}
	return found
}

// End forgets a session.
func (s *Sessions) End(_ context.Context, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}

// Lock waits for the earlier calls of the session.
func (s *Session) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case s.lock <- struct{}{}:
		return func() { <-s.lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
