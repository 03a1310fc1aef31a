package chain

import (
	"context"
	"sync"
)

// branches are the parts of a call that one run of its middleware begins. As that may return before a part
// has ended, or begin several, each part has a trace of its own.
type branches struct {
	mu   sync.Mutex
	over bool // the middleware has returned: the call's trace changes no more
}

// Branching lets a middleware run parts of the call. The caller calls end when it has returned.
func (t *Trace) Branching() (end func()) {
	b := &branches{}
	t.branches = b
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.over = true
	}
}

// Branch returns a trace, which is also its context, for a part of the call that its middleware begins.
func (t *Trace) Branch(ctx context.Context) *Trace {
	b := t.branches
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &Trace{Context: ctx, Caller: t.Caller, Begin: t.Begin, audit: t.audit, Call: t.Call, outer: t, of: t, branch: b}
	out.take(t)
	return out
}

// Publish makes what is known of a part known of the whole call, unless its middleware has returned.
func (t *Trace) Publish() {
	if t.of == nil {
		return
	}
	t.branch.mu.Lock()
	defer t.branch.mu.Unlock()
	if !t.branch.over {
		t.of.take(t)
		t.of.Publish()
	}
}

// take copies what has been decided and done.
func (t *Trace) take(from *Trace) {
	t.Definition, t.Digest, t.Plugin, t.Modified = from.Definition, from.Digest, from.Plugin, from.Modified
	t.Decision, t.ApprovedBy, t.Attempts, t.Once = from.Decision, from.ApprovedBy, from.Attempts, from.Once
	t.phases.Phases, t.phases.answered = from.phases.Phases, from.phases.answered
}
