package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Question is what [Approve] needs to know about a tool.
type Question struct {
	Definition *tool.Definition
	Plugin     string         // see [Request]
	Input      *schema.Schema // validates the arguments
	Rule       policy.Rule
	Preview    tool.Handler // nil: the tool has no preview
	// Answered is told who answered, and whether the call, by its ID, may run.
	Answered func(plugin, tool, call, by string, allowed bool)
}

// asks reports whether calls need an approval or are denied by the rule.
func (q Question) asks() bool {
	switch q.Rule {
	case policy.Ask, policy.DenyAll:
		return true
	}
	return q.Definition.Safety.Effective() >= tool.Dangerous
}

// request returns what the approver is asked. If it asks for a preview and that is a
// failure, failure is set to it.
func (q Question) request(call tool.Call, caller *Caller, failure *atomic.Pointer[tool.Result]) policy.Request {
	r := policy.Request{
		Call: call, Definition: q.Definition.Clone(), Plugin: q.Plugin,
		Caller: caller.Name, Account: caller.Account, Via: caller.Via, Client: caller.Client, Session: caller.Session,
	}
	if q.Preview != nil {
		r.Preview = func(ctx context.Context) (tool.Result, error) {
			res, err := q.Preview(ctx, call)
			if err == nil && res.IsError {
				failure.Store(&res)
			}
			return res, err
		}
	}
	return r
}

// Approve asks the caller's approver about calls of dangerous tools, and about
// other calls if the tool's rule says so. It skips the step for calls that need
// no approval. A caller without an approver is denied.
//
// # Errors
//
//   - [tool.CodeApprovalRequired] if the caller has no approver, or one that cannot ask anybody
//   - [tool.CodeApprovalDenied] if the approver or the operator denies the call,
//     or if the approver fails or panics (Detail has the stack)
//   - [tool.CodeInvalidArguments] if the approver's own arguments are not valid
func Approve(q Question) Middleware {
	if !q.asks() {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			t.Decision = audit.Denied // until the call is approved
			var failure atomic.Pointer[tool.Result]
			decision, err := q.decide(ctx, t, call, &failure)
			if err != nil {
				return tool.Result{}, err
			}
			if decision.Verdict == policy.Fail {
				t.Decision, t.ApprovedBy = "", "" // it was not asked
				return *failure.Load(), nil
			}
			if decision.Verdict == policy.Modify {
				t.modify(call.Arguments, decision.Arguments)
				if err := CheckArguments(ctx, q.Input, call.Name, decision.Arguments); err != nil {
					return tool.Result{}, err
				}
				call.Arguments = decision.Arguments
			}
			t.Decision = audit.Approved
			return next(ctx, call)
		}
	}
}

// decide returns the operator's decision if the rule has one, and otherwise
// asks the caller's approver.
func (q Question) decide(
	ctx context.Context, t *Trace, call tool.Call, failure *atomic.Pointer[tool.Result],
) (policy.Decision, error) {
	switch q.Rule {
	case policy.AllowAll:
		t.ApprovedBy = policy.Operator
		return policy.Decision{Verdict: policy.Allow}, nil
	case policy.DenyAll:
		t.ApprovedBy = policy.Operator
		return policy.Decision{}, refuse(callstage.Approve, tool.CodeApprovalDenied, call.Name,
			"Approval denied for tool: "+call.Name+": the operator does not allow this tool",
			"do not call it again; do what you can without it").Fix("its approval rule is deny")
	}
	if waits := callctx.Get[func(string) func()](ctx, callctx.Waits{}); waits != nil {
		defer waits("waits for approval")()
	}
	defer t.waits(atAsked, &t.phases.Asked)()
	if asked := callctx.Get[func()](ctx, mode.Asked{}); asked != nil {
		asked()
	}
	caller := t.caller()
	d, err := ask(ctx, caller.Approver, q.request(call, caller, failure))
	if err == nil && d.Verdict == policy.Fail && failure.Load() == nil {
		err = denied(call.Name, "its preview has not failed")
	}
	if caller.Approver != nil && !errors.Is(err, policy.ErrCannotAsk) {
		t.ApprovedBy = cmp.Or(d.By, "approver")
		if ctx.Err() == nil && d.Verdict != policy.Fail {
			q.Answered(q.Plugin, call.Name, t.Call, t.ApprovedBy, err == nil)
		}
	}
	return d, err
}

// ask asks the approver. It returns an error if the approver denies the call.
func ask(ctx context.Context, approver policy.Approver, r policy.Request) (policy.Decision, error) {
	name := r.Call.Name
	if approver == nil {
		return policy.Decision{}, refuse(callstage.Approve, tool.CodeApprovalRequired, name,
			fmt.Sprintf("tool %s is dangerous and needs approval, but the session has no approver", name),
			unasked).Fix(remedy.Approver.String())
	}
	d, err := callApprover(ctx, approver, r)
	var panicked *Panic
	switch {
	case errors.Is(err, policy.ErrCannotAsk) && ctx.Err() == nil:
		return policy.Decision{}, cannotAsk(name, err).Because(err)
	case errors.As(err, &panicked), err != nil && ctx.Err() == nil:
		e := refuse(callstage.Approve, tool.CodeApprovalDenied, name,
			fmt.Sprintf("Approval failed for tool: %s: %v", name, err),
			"the question was not answered; do what you can without it, or say what you would have done").
			Fix("the tool did not run; see to the approver")
		if panicked != nil {
			e.Detail = panicked.Stack
		}
		return policy.Decision{}, e.Because(err)
	case ctx.Err() != nil:
		return policy.Decision{}, refuse(callstage.Approve, tool.CodeOf(ctx.Err()), name,
			fmt.Sprintf("the call of tool %s ended before it was approved: %v", name, deadline.Cause(ctx)),
			"").Because(ctx.Err())
	case d.Verdict == policy.Allow || d.Verdict == policy.Modify || d.Verdict == policy.Fail:
		return d, nil
	}
	return d, denied(name, d.Reason)
}

// unasked is what a model is told if no one can be asked.
const unasked = "it cannot be approved here; do what you can without it, or say what you would have done"

// cannotAsk returns the refusal of a call that no one can be asked about, in the words of the
// approver.
func cannotAsk(name string, err error) *tool.Error {
	message, hint, advice := err.Error(), unasked, "give the session an approver that can ask"
	if said, ok := errors.AsType[*tool.Error](err); ok {
		message = strings.TrimSuffix(message, " ("+said.Advice()+")")
		hint, advice = cmp.Or(said.Hint, hint), cmp.Or(said.OperatorHint, said.Hint, advice)
	}
	return refuse(callstage.Approve, tool.CodeApprovalRequired, name,
		fmt.Sprintf("tool %s needs approval, and no one can be asked: %s", name,
			strings.TrimSuffix(message, ": "+policy.ErrCannotAsk.Error())), hint).Fix(advice)
}

// callApprover calls an approver and turns its panic into an error.
func callApprover(ctx context.Context, a policy.Approver, r policy.Request) (d policy.Decision, err error) {
	defer func() {
		if v := recover(); v != nil {
			d, err = policy.Decision{}, Recovered("the approver", v)
		}
	}()
	return a.Approve(ctx, r)
}

// stop is what a model is told of a person's no. Models tend to rephrase and
// repeat a call that a person has just denied.
const stop = "STOP: Do NOT retry; ask what is wanted instead"

func denied(name, reason string) error {
	msg := "Approval denied for tool: " + name
	if reason != "" {
		msg += ": " + reason
	}
	return refuse(callstage.Approve, tool.CodeApprovalDenied, name, msg, stop).Fix("the tool did not run")
}
