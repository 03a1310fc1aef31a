package mcpbridge

import (
	"context"
	"sync/atomic"
)

// together are the questions that an upstream asks in one result. They reach a client in one
// result, too, under the upstream's keys.
type together struct {
	missing atomic.Int32
	all     chan struct{} // closed when each was put, or is not going to be
}

// member is one of them.
type member struct {
	*together
	key  string
	here *atomic.Bool
}

type memberKey struct{}

func newTogether(n int) *together {
	t := &together{all: make(chan struct{})}
	t.missing.Store(int32(n)) //nolint:gosec // at most maxQuestions
	return t
}

// with returns the context of the question with a key, and what has to be called when it has
// its answer.
func (t *together) with(ctx context.Context, key string) (context.Context, func()) {
	m := member{t, key, new(atomic.Bool)}
	return context.WithValue(ctx, memberKey{}, m), m.arrive
}

// arrive says that the others need not wait for this one any more.
func (m member) arrive() {
	if m.here.CompareAndSwap(false, true) && m.missing.Add(-1) == 0 {
		close(m.all)
	}
}
