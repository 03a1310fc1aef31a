package chain

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is who makes a call. Implementations answer from memory: they are
// asked during each call.
type Caller interface {
	// ID is the session's.
	ID() string
	// Holds reports whether the caller was granted c.
	Holds(c tool.Capability) bool
	// Approver is who says yes or no to dangerous calls; nil: nobody.
	Approver() policy.Approver
	// ResultLimit is how many characters of text the caller wants of a result;
	// 0: all.
	ResultLimit() int
}

// Trace is one call's companion: who makes it, and what became of it on its
// way. Each call has its own, and only that call's goroutine writes to it. It is
// the call's context at the same time, see [WithTrace].
type Trace struct {
	context.Context

	Caller Caller
	// Begin is when the call came in.
	Begin time.Time
	// Definition, its Digest and Plugin are set when the name is resolved; nil and
	// empty before, and for unknown names.
	Definition *tool.Definition
	Digest     string
	Plugin     string
	// Modified is what an approver made of the call's arguments; nil: it left them.
	Modified *Modification
	// Decision is one of package audit's: allowed, approved, denied, or empty where
	// it did not come to one.
	Decision string
	// ApprovedBy is who was asked and said yes or no; empty: nobody was.
	ApprovedBy string
	// Attempts counts how often the provider was asked.
	Attempts int
}

// Modification is a call's arguments before and after an approver has changed them.
type Modification struct {
	Asked json.RawMessage // by the caller
	Given json.RawMessage // to the tool
}

type traceKey struct{}

// WithTrace is ctx with t in it, which is t itself: one allocation a call and
// not three. Begin is set where it is not.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	t.Context = ctx
	if t.Begin.IsZero() {
		t.Begin = time.Now()
	}
	return t
}

// Value implements [context.Context].
func (t *Trace) Value(key any) any {
	if key == (traceKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// TraceFrom is the call's trace; nil outside of a call.
func TraceFrom(ctx context.Context) *Trace {
	if limited, ok := ctx.(*deadline.Context); ok {
		ctx = limited.Caller()
	}
	if t, ok := ctx.(*Trace); ok {
		return t
	}
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// traceOf is the call's trace, or outside of a call an empty one.
func traceOf(ctx context.Context) *Trace {
	if t := TraceFrom(ctx); t != nil {
		return t
	}
	return &Trace{Context: ctx, Begin: time.Now()}
}

// now is the time. Only the clock that measures is read, which takes half as long
// as reading the one on the wall too.
func (t *Trace) now() time.Time { return t.Begin.Add(time.Since(t.Begin)) }

// caller is never nil.
func (t *Trace) caller() Caller {
	if t.Caller == nil {
		return nobody{}
	}
	return t.Caller
}

// nobody is the caller where there is none: no grants and no approver.
type nobody struct{}

func (nobody) ID() string                 { return "" }
func (nobody) Holds(tool.Capability) bool { return false }
func (nobody) Approver() policy.Approver  { return nil }
func (nobody) ResultLimit() int           { return 0 }
