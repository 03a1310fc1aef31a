package policy

import (
	"context"

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
}

// Trace is one call's companion: who makes it, and what became of it on its
// way. Each call has its own, and only that call's goroutine writes to it.
type Trace struct {
	Caller Caller
	// Definition and Plugin are set when the name is resolved; nil and empty
	// before, and for unknown names.
	Definition *tool.Definition
	Plugin     string
	// Approved says that somebody said yes.
	Approved bool
	// Attempts counts how often the provider was asked.
	Attempts int
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

func callerFrom(ctx context.Context) Caller {
	if t := TraceFrom(ctx); t != nil && t.Caller != nil {
		return t.Caller
	}
	return nobody{}
}
