package chain

import (
	"bytes"
	"context"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Passed is a call that a host passes on to a provider attached to it. If the
// provider is a host too, it learns from it who calls. It is also the context
// of the provider, and the context of a call of that host hides it: code that
// runs in a call does not act for the call's caller.
type Passed struct {
	context.Context

	// Trace is that of the outer host.
	Trace *Trace
	call  tool.Call
}

type passedKey struct{}

// Value implements [context.Context].
func (p *Passed) Value(key any) any {
	if key == (passedKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// PassedFrom returns what an outer host has passed on, or nil if the context is
// not that of an attached provider.
func PassedFrom(ctx context.Context) *Passed {
	p, _ := ctx.Value(passedKey{}).(*Passed)
	return p
}

// PassOn tells a provider which may be a host who calls. A nil handler stays nil.
func PassOn(next tool.Handler) tool.Handler {
	if next == nil {
		return nil
	}
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if t := TraceFrom(ctx); t != nil {
			ctx = &Passed{Context: ctx, Trace: t, call: call}
		}
		return next(ctx, call)
	}
}

// ApprovedBy returns who has approved a call in the outer host; empty: it is not approved, or
// not the call that was passed on.
func (p *Passed) ApprovedBy(call tool.Call) string {
	same := call.ID == p.call.ID && call.Name == p.call.Name && bytes.Equal(call.Arguments, p.call.Arguments)
	if !same || p.Trace.Decision != audit.Approved {
		return ""
	}
	return p.Trace.ApprovedBy
}
