package tool

import (
	"context"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Trace is the trace that a call belongs to, as W3C Trace Context describes it
// (https://www.w3.org/TR/trace-context). Tools pass it on with what they request of others.
type Trace struct {
	// Parent is the value of "traceparent". Empty: no trace is known.
	Parent string
	// State is the value of "tracestate". Empty: there is none.
	State string
}

// TraceFrom returns the trace of the call that ctx belongs to; the zero Trace: none is known.
func TraceFrom(ctx context.Context) Trace {
	if t := callctx.Get[*Trace](ctx, callctx.Trace{}); t != nil {
		return *t
	}
	return Trace{}
}
