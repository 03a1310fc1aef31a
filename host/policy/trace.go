package policy

import (
	"context"
	"encoding/json"

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
	Approver() Approver
	// ResultLimit is how many characters of text the caller wants of a result;
	// 0: all.
	ResultLimit() int
}

// Trace is one call's companion: who makes it, and what became of it on its
// way. Each call has its own, and only that call's goroutine writes to it.
type Trace struct {
	Caller Caller
	// Definition, its Digest and Plugin are set when the name is resolved; nil and
	// empty before, and for unknown names.
	Definition *tool.Definition
	Digest     string
	Plugin     string
	// Arguments are what the tool was given, where an approver may have changed
	// them; nil: the call's own.
	Arguments json.RawMessage
	// Decision is one of package audit's: allowed, approved, denied, or empty where
	// it did not come to one.
	Decision string
	// ApprovedBy is who was asked and said yes or no; empty: nobody was.
	ApprovedBy string
	// Attempts counts how often the provider was asked.
	Attempts int
}

// decide notes a decision on the call, if there is a trace to note it on.
func decide(ctx context.Context, decision string) {
	if t := TraceFrom(ctx); t != nil {
		t.Decision = decision
	}
}

type traceKey struct{}

// WithTrace puts t into the context.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom is the call's trace; nil outside of a call.
func TraceFrom(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// nobody is the caller where there is none: no grants and no approver.
type nobody struct{}

func (nobody) ID() string                 { return "" }
func (nobody) Holds(tool.Capability) bool { return false }
func (nobody) Approver() Approver         { return nil }
func (nobody) ResultLimit() int           { return 0 }

func callerFrom(ctx context.Context) Caller {
	if t := TraceFrom(ctx); t != nil && t.Caller != nil {
		return t.Caller
	}
	return nobody{}
}
