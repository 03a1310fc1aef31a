package host

import (
	"context"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// visitor is who makes a call, as far as only this package asks: a session, or the caller of
// an outer host.
type visitor interface {
	chain.Caller
	// mayCall reports whether the caller has a tool.
	mayCall(d *tool.Definition) bool
	// discovers returns the tools of the host's own that the caller has; nil: none.
	discovers() *discovery
	// holder returns the session whose end lets go of the plugins that keep state for the
	// caller; nil: it never ends.
	holder() *Session
}

// callerOf returns the caller of a call; nil: there is none.
func callerOf(t *chain.Trace) visitor {
	if t == nil {
		return nil
	}
	c, _ := t.Caller.(visitor)
	return c
}

// nestedCaller is the caller of an outer host, to which this host, or a session of it, is
// attached. Callers of the outer host are callers of this one, each with its own name and ID,
// and so with its own rates and its own state in plugins. A host that is attached leaves
// grants and approval to the outer host; a session that is attached has its own.
type nestedCaller struct {
	chain.Caller
	via        *asCaller // of this host
	approvedBy string    // who has approved this call in the outer host; empty: it is not approved
}

var _ visitor = (*nestedCaller)(nil)

// traceOf returns a new trace of a call that comes in through the session.
func (s *Session) traceOf(ctx context.Context, call tool.Call) *chain.Trace {
	p := chain.PassedFrom(ctx)
	if p == nil || p.Trace.Caller == nil {
		return &chain.Trace{Caller: (*asCaller)(s)}
	}
	n := &nestedCaller{Caller: p.Trace.Caller, via: (*asCaller)(s)}
	if n.isHost() {
		n.approvedBy = p.ApprovedBy(call)
	}
	// One call, one moment: else a call that waited for approval would take its token here
	// later than in the outer host, and the next one might find none.
	return &chain.Trace{Caller: n, Begin: p.Trace.Begin}
}

// isHost reports whether the host is attached, not a session.
func (n *nestedCaller) isHost() bool { return n.via.host.anonymous.id == n.via.id }

// Quota implements [chain.Caller]. The outer host has counted the call for its caller.
func (n *nestedCaller) Quota() *chain.Quota { return n.via.Quota() }

// Holds implements [chain.Caller].
func (n *nestedCaller) Holds(c tool.Capability) bool {
	if n.isHost() {
		return n.Caller.Holds(c)
	}
	return n.via.Holds(c)
}

// Approver implements [chain.Caller]. It asks only once about one call.
func (n *nestedCaller) Approver() policy.Approver {
	switch {
	case n.approvedBy != "":
		return policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Allow, By: n.approvedBy}, nil
		})
	case n.isHost():
		return n.Caller.Approver()
	}
	return n.via.Approver()
}

// ResultLimit implements [chain.Caller]. The outer host cuts results to its caller's limit.
func (n *nestedCaller) ResultLimit() int { return n.via.ResultLimit() }

// The outer host has judged by its own names what its caller sees.
func (n *nestedCaller) mayCall(d *tool.Definition) bool { return n.via.mayCall(d) }

func (n *nestedCaller) discovers() *discovery { return n.via.discovers() }

func (n *nestedCaller) holder() *Session {
	if outer, ok := n.Caller.(visitor); ok {
		return outer.holder()
	}
	return nil
}
