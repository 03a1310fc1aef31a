package chain

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/textstream"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is who makes a call, in a session. The zero value has no grants and no approver.
type Caller struct {
	Name    string // empty: it has none
	Session string // the session's ID
	Via     string // how its calls come in; empty: in no way that is on record
	Client  string // the program that makes the calls, as it calls itself; empty: not known
	Account string // who answers for it; empty: this host
	Key     string // what its calls are counted under, for rates and shares
	Quota   *Quota // what bounds all of its calls; nil: nothing does
	// Holds reports, from memory, whether it was granted a capability; nil: it was granted none.
	Holds       func(tool.Capability) bool
	Approver    policy.Approver // of dangerous calls; nil: there is none
	ResultLimit int             // how many characters of text it wants of a result; 0: all
	Visit       any             // what the host knows of it besides
}

// Trace holds what the steps know about one call: who makes it, and what has
// been decided and done so far. Each call has its own, and only the call's
// goroutine writes to it. It is also the call's context, see [WithTrace].
type Trace struct {
	context.Context

	Caller *Caller // never changed; nil: there is none
	// Begin is the time at which the call came in.
	Begin time.Time
	// Definition, Digest (the definition's) and Plugin are set when the name is
	// resolved; before that, and for unknown names, they are zero.
	Definition *tool.Definition
	Digest     string
	Plugin     string
	// Modified has the arguments before and after an approver or a middleware changed them;
	// nil: they are unchanged.
	Modified *Modification
	// Decision is one of package audit's: allowed, approved or denied; empty if
	// the call ended before a decision.
	Decision string
	// ApprovedBy is who approved or denied the call; empty: no approver was
	// asked.
	ApprovedBy string
	// Attempts is the number of times the provider was called.
	Attempts int
	// Once is set by a provider that has handed the call on to what outlives it: [Retry] does not
	// repeat it.
	Once bool
	// Call is the ID of the call.
	Call string
	// audit is where the call is on record; nil: it is not.
	audit *Audit
	// job is the ID of the call in the queue of durable calls; empty: it is in none.
	job string
	// later is called in place of recording the end; nil: that is recorded when the provider returns.
	later func(end func(tool.Result, error))
	// phases is where its time goes.
	phases phases
	// outer is the call in which this one was made; nil: it was made in none.
	outer *Trace
	// branches are the parts of the call that its middleware runs; nil: it runs none.
	branches *branches
	// of is the call that this one is a part of, and branch one of its branches; nil: it is all of it.
	of     *Trace
	branch *branches
	// within is whose slots the call took first, for calls that are made in it; nil: no one's.
	within *Slots
	// held is who the attempt's slot was given to; nil: it has none, or has given it back.
	held *slotCaller
	// passed is the trace that the call passes on, with its own span if it has one, and parentSpan the
	// span that it was made in, see [Trace.Join].
	passed     tool.Trace
	parentSpan string
	joined     bool
	// Streamed has the text that a function of this process streams.
	Streamed textstream.Slot
}

// modify records that the arguments have changed, perhaps again.
func (t *Trace) modify(asked, given json.RawMessage) {
	if t.Modified != nil {
		asked = t.Modified.Asked
	}
	t.Modified = &Modification{Asked: asked, Given: given}
}

// Modification is a call's arguments before and after they were changed.
type Modification struct {
	Asked json.RawMessage // by the caller
	Given json.RawMessage // to the tool
}

type traceKey struct{}

// WithTrace returns ctx with t in it. The result is t itself, which saves two
// allocations per call. It sets Begin if it is zero.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	t.Context, t.outer = ctx, TraceFrom(ctx)
	if t.Begin.IsZero() {
		t.Begin = time.Now()
	}
	return t
}

// Value implements [context.Context].
func (t *Trace) Value(key any) any {
	switch key {
	case traceKey{}:
		return t
	case callctx.Stream{}:
		return &t.Streamed
	case callctx.Trace{}:
		if t.joined {
			return &t.passed
		}
	case callctx.Sent{}:
		return t
	case callctx.Starts{}:
		return t.starts
	case passedKey{}, askingKey{}: // of an outer host; see [Passed] and [Ask]
		return nil
	}
	return t.Context.Value(key)
}

// TraceFrom returns the call's trace, or nil outside of a call.
func TraceFrom(ctx context.Context) *Trace {
	if limited, ok := ctx.(*deadline.Context); ok {
		ctx = limited.Parent()
	}
	if t, ok := ctx.(*Trace); ok {
		return t
	}
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// traceOf returns the call's trace, or an empty one outside of a call.
func traceOf(ctx context.Context) *Trace {
	if t := TraceFrom(ctx); t != nil {
		return t
	}
	return &Trace{Context: ctx, Begin: time.Now()}
}

// parent returns the ID of the call in which this one was made; empty: in none. A call that is passed on to
// another host of this process is the same.
func (t *Trace) parent() string {
	for outer := t.outer; outer != nil; outer = outer.outer {
		if outer.Call != t.Call {
			return outer.Call
		}
	}
	return ""
}

// now returns the time. It reads only the monotonic clock, which takes half as
// long as reading the wall clock too.
func (t *Trace) now() time.Time { return t.Begin.Add(time.Since(t.Begin)) }

// caller returns the caller, which is never nil.
func (t *Trace) caller() *Caller {
	if t.Caller == nil {
		return &Caller{}
	}
	return t.Caller
}
