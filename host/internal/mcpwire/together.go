package mcpwire

import (
	"context"
	"sync/atomic"
)

// Together are the questions that a mounted server asks in one result. They reach a client in one
// result, too, under the server's keys.
type Together struct {
	missing atomic.Int32
	all     chan struct{}
}

// Member is one of them.
type Member struct {
	Key string

	of   *Together
	here *atomic.Bool
}

type memberKey struct{}

// NewTogether returns n questions, not more than fit into an int32.
func NewTogether(n int) *Together {
	t := &Together{all: make(chan struct{})}
	t.missing.Store(int32(n)) //nolint:gosec // see above
	return t
}

// With returns the context of the question with a key, and what has to be called when it has
// its answer.
func (t *Together) With(ctx context.Context, key string) (context.Context, func()) {
	m := Member{key, t, new(atomic.Bool)}
	return context.WithValue(ctx, memberKey{}, m), m.Arrive
}

// MemberFrom returns the question that ctx is of, if it is one of several.
func MemberFrom(ctx context.Context) (m Member, ok bool) {
	m, ok = ctx.Value(memberKey{}).(Member)
	return m, ok
}

// Arrive says that the others need not wait for this one any more.
func (m Member) Arrive() {
	if m.here.CompareAndSwap(false, true) && m.of.missing.Add(-1) == 0 {
		close(m.of.all)
	}
}

// All is closed when each of the questions was put, or is not going to be.
func (m Member) All() <-chan struct{} { return m.of.all }
