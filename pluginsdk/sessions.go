package pluginsdk

import (
	"context"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"sync"
)

// Sessions keeps a value for each session that calls the plugin:
//
//	var carts = pluginsdk.Sessions[Cart]{}
//	pluginsdk.Plugin{Tools: ..., SessionEnded: carts.Ended}.Main()
//
// The zero value is ready. It is safe for concurrent use; the values need locks of their own, as
// calls of one session may overlap.
type Sessions[T any] struct {
	// New makes the value of a session. Nil: it is the zero value.
	New func() *T
	// Drop is called, without a lock, with a value that is not kept any longer. Nil: nothing is to
	// be done.
	Drop func(*T)
	// Most is how many values are kept: beyond that, the one that was used longest ago is dropped.
	// Default: 1,024.
	Most int

	mu    sync.Mutex
	kept  map[string]*keptSession[T]
	clock int64
}

type keptSession[T any] struct {
	value *T
	used  int64 // the clock at the last use
}

// Get returns the value of the session whose call ctx belongs to, and makes it if there is none. A
// call without a session gets a value of its own, which is not kept or dropped.
func (s *Sessions[T]) Get(ctx context.Context) *T {
	id := tool.CallFrom(ctx).Session
	if id == "" {
		return s.make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	one := s.kept[id]
	if one == nil {
		if s.kept == nil {
			s.kept = map[string]*keptSession[T]{}
		}
		one = &keptSession[T]{value: s.make()}
		s.kept[id] = one
	}
	one.used = s.clock
	most := s.Most
	if most <= 0 {
		most = 1024
	}
	if len(s.kept) > most {
		s.dropOldest()
	}
	return one.value
}

func (s *Sessions[T]) make() *T {
	if s.New == nil {
		return new(T)
	}
	return s.New()
}

// dropOldest drops the value that was used longest ago. The lock is held.
func (s *Sessions[T]) dropOldest() {
	oldest, used := "", s.clock+1
	for id, one := range s.kept {
		if one.used < used {
			oldest, used = id, one.used
		}
	}
	value := s.kept[oldest].value
	delete(s.kept, oldest)
	if s.Drop != nil {
		go s.Drop(value)
	}
}

// Ended drops the value of a session. It is for [Plugin.SessionEnded].
func (s *Sessions[T]) Ended(_ context.Context, session string) {
	s.mu.Lock()
	one := s.kept[session]
	delete(s.kept, session)
	s.mu.Unlock()
	if one != nil && s.Drop != nil {
		s.Drop(one.value)
	}
}

// Len returns how many values are kept.
func (s *Sessions[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept)
}
