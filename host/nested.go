package host

import (
	"context"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// visit is what only this package knows of who makes a call.
type visit struct {
	session *Session // by which the call comes in
	of      *Session // in which it was made, perhaps of an outer host; nil: in none
	key     string   // the call's idempotency key; empty: it has none
}

// visitOf returns the visit of a call; nil: no session made it.
func visitOf(t *chain.Trace) *visit {
	if t == nil || t.Caller == nil {
		return nil
	}
	v, _ := t.Caller.Visit.(*visit)
	return v
}

// holder returns the session whose end lets go of the plugins that keep state for the caller; nil: it
// never ends.
func (v *visit) holder() *Session {
	if v == nil || v.of == nil || v.of.isAnonymous() {
		return nil
	}
	return v.of
}

// isAnonymous reports whether calls of the host itself come in by the session.
func (s *Session) isAnonymous() bool { return s.host.anonymous.id == s.id }

// traceOf returns a new trace of a call that comes in through the session.
//
// If this host, or the session, is attached to an outer host, callers of the outer host are callers of
// this one, each with its own name and ID, and so with its own rates and its own state in plugins. A host
// that is attached leaves grants and approval to the outer host; a session that is attached has its own.
// The outer host counts the call for its caller, cuts its result to that caller's limit, and has judged
// by its own names what the caller sees.
func (s *Session) traceOf(ctx context.Context, call tool.Call) *chain.Trace {
	p := chain.PassedFrom(ctx)
	if p == nil || p.Trace.Caller == nil {
		return &chain.Trace{Caller: s.as}
	}
	c, v := *p.Trace.Caller, &visit{session: s}
	if outer := visitOf(p.Trace); outer != nil {
		v.of = outer.of
	}
	c.Quota, c.ResultLimit, c.Visit = s.as.Quota, s.limit, v
	if !s.isAnonymous() {
		c.Holds, c.Approver = s.Holds, s.approver
	} else if by := p.ApprovedBy(call); by != "" { // it is asked about once
		c.Approver = policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Allow, By: by}, nil
		})
	}
	// One call, one moment: else a call that waited for approval would take its token here
	// later than in the outer host, and the next one might find none.
	return &chain.Trace{Caller: &c, Begin: p.Trace.Begin}
}
