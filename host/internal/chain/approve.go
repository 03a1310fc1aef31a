package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Question is what [Approve] needs to know of a tool.
type Question struct {
	Definition *tool.Definition
	Plugin     string         // see [Request]
	Input      *schema.Schema // of the arguments
	Rule       policy.Rule
	Preview    tool.Handler // nil: there is none
}

// asks reports whether anybody is to be asked.
func (q Question) asks() bool {
	switch q.Rule {
	case policy.Ask, policy.DenyAll:
		return true
	}
	return q.Definition.Safety.Effective() >= tool.Dangerous
}

func (q Question) request(call tool.Call, session string) policy.Request {
	r := policy.Request{Call: call, Definition: q.Definition.Clone(), Plugin: q.Plugin, Session: session}
	if q.Preview != nil {
		r.Preview = func(ctx context.Context) (tool.Result, error) { return q.Preview(ctx, call) }
	}
	return r
}

// Approve asks the caller's approver about calls of dangerous tools, or by the
// tool's rule about others too. Where nobody is to be asked the step is left out. No
// approver means no.
//
// # Errors
//
// [tool.CodeApprovalRequired] where there is no approver;
// [tool.CodeApprovalDenied] where it, or the operator, says no, or it fails or
// panics (Detail has the stack);
// [tool.CodeInvalidArguments] where its own arguments do not fit.
func Approve(q Question) Middleware {
	if !q.asks() {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			t.Decision = audit.Denied // until somebody says yes
			decision, err := q.decide(ctx, t, call)
			if err != nil {
				return tool.Result{}, err
			}
			if decision.Verdict == policy.Modify {
				if err := CheckArguments(ctx, q.Input, call.Name, decision.Arguments); err != nil {
					return tool.Result{}, err
				}
				t.Modified = &Modification{Asked: call.Arguments, Given: decision.Arguments}
				call.Arguments = decision.Arguments
			}
			t.Decision = audit.Approved
			return next(ctx, call)
		}
	}
}

// decide is the operator's answer where there is one, or else that of the caller's
// approver.
func (q Question) decide(ctx context.Context, t *Trace, call tool.Call) (policy.Decision, error) {
	switch q.Rule {
	case policy.AllowAll:
		t.ApprovedBy = policy.Operator
		return policy.Decision{Verdict: policy.Allow}, nil
	case policy.DenyAll:
		t.ApprovedBy = policy.Operator
		return policy.Decision{}, denied(call.Name, "the operator does not allow this tool")
	}
	caller := t.caller()
	d, err := ask(ctx, caller, q.request(call, caller.ID()))
	if caller.Approver() != nil {
		t.ApprovedBy = cmp.Or(d.By, "approver")
	}
	return d, err
}

// ask gets a yes from the approver, or the error that stands for its no.
func ask(ctx context.Context, caller Caller, r policy.Request) (policy.Decision, error) {
	name := r.Call.Name
	approver := caller.Approver()
	if approver == nil {
		return policy.Decision{}, refuse(tool.StageApprove, tool.CodeApprovalRequired, name,
			fmt.Sprintf("tool %s is dangerous and needs approval, and there is nobody to give it", name),
			"run it from a terminal or with --yes; in a program, give the session an approver")
	}
	d, err := protected(ctx, approver, r)
	var panicked *Panic
	switch {
	case errors.As(err, &panicked), err != nil && ctx.Err() == nil:
		e := refuse(tool.StageApprove, tool.CodeApprovalDenied, name,
			fmt.Sprintf("Approval failed for tool: %s: %v", name, err), stop)
		if panicked != nil {
			e.Detail = panicked.Stack
		}
		return policy.Decision{}, because(e, err)
	case ctx.Err() != nil:
		return policy.Decision{}, because(refuse(tool.StageApprove, tool.CodeOf(ctx.Err()), name,
			fmt.Sprintf("the call of tool %s ended before it was approved: %v", name, deadline.Cause(ctx)), ""), ctx.Err())
	case d.Verdict == policy.Allow || d.Verdict == policy.Modify:
		return d, nil
	}
	return d, denied(name, d.Reason)
}

// protected asks an approver, whose panic is an error.
func protected(ctx context.Context, a policy.Approver, r policy.Request) (d policy.Decision, err error) {
	defer func() {
		if v := recover(); v != nil {
			d, err = policy.Decision{}, Recovered("the approver", v)
		}
	}()
	return a.Approve(ctx, r)
}

// stop is the hint of a refusal. Models tend to ask again, in other words, for what
// a person has just refused.
const stop = "STOP: Do NOT retry; ask what is wanted instead"

func denied(name, reason string) error {
	msg := "Approval denied for tool: " + name
	if reason != "" {
		msg += ": " + reason
	}
	return refuse(tool.StageApprove, tool.CodeApprovalDenied, name, msg, stop)
}
