package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Approver says yes or no to dangerous calls, or asks somebody who does.
type Approver interface {
	// Approve decides. It returns soon after its context ends; an error counts
	// as no, and so does a panic.
	Approve(context.Context, Request) (Decision, error)
}

// ApproverFunc is a function as an [Approver].
type ApproverFunc func(context.Context, Request) (Decision, error)

// Approve implements [Approver]. A nil function is an error, which counts as no.
func (f ApproverFunc) Approve(ctx context.Context, r Request) (Decision, error) {
	if f == nil {
		return Decision{}, errors.New("the approver is a nil function")
	}
	return f(ctx, r)
}

// Request is what an approver decides on.
type Request struct {
	Call       tool.Call
	Definition tool.Definition
	// Plugin serves the tool; empty: a function of this process.
	Plugin string
	// Session is the caller's ID.
	Session string
	// Preview asks the tool what the call would do, such as a unified diff; nil: it
	// has no preview, or the operator has switched it off. A result with IsError says
	// why the call would fail. An error that is [tool.ErrNotFound] by its code says
	// that the tool has no preview after all; another, that it could not be made.
	//
	// What comes back is the plugin's word. It can be wrong, or meant to mislead: it
	// helps to judge a call and takes the place of no argument.
	Preview func(context.Context) (tool.Result, error)
}

// Rule says which calls of a tool need somebody's yes.
type Rule string

// The rules.
const (
	BySafety Rule = ""      // those of a dangerous tool
	Ask      Rule = "ask"   // all
	AllowAll Rule = "allow" // none: the operator has said yes in advance
	DenyAll  Rule = "deny"  // all, and the answer is no
)

// ParseRule reads a rule: "default", which is [BySafety] and so is the empty text,
// "ask", "allow" or "deny".
func ParseRule(s string) (Rule, error) {
	switch r := Rule(s); r {
	case "default":
		return BySafety, nil
	case BySafety, Ask, AllowAll, DenyAll:
		return r, nil
	}
	return "", fmt.Errorf("unknown rule %.64q: use default, ask, allow or deny", s)
}

// Operator is who decided where the rule is [AllowAll] or [DenyAll], for the
// record.
const Operator = "operator"

// Question is what [Approve] needs to know of a tool.
type Question struct {
	Definition *tool.Definition
	Plugin     string         // see [Request]
	Input      *schema.Schema // of the arguments
	Rule       Rule
	Preview    tool.Handler // nil: there is none
}

// asks reports whether anybody is to be asked.
func (q Question) asks() bool {
	switch q.Rule {
	case Ask, DenyAll:
		return true
	}
	return q.Definition.Safety.Effective() >= tool.Dangerous
}

func (q Question) request(call tool.Call, session string) Request {
	r := Request{Call: call, Definition: q.Definition.Clone(), Plugin: q.Plugin, Session: session}
	if q.Preview != nil {
		r.Preview = func(ctx context.Context) (tool.Result, error) { return q.Preview(ctx, call) }
	}
	return r
}

// Verdict is an approver's answer. The zero value is no.
type Verdict int8

const (
	// Deny refuses the call.
	Deny Verdict = iota
	// Allow runs the call as it is.
	Allow
	// Modify runs it with other arguments, which are validated again.
	Modify
)

// Decision is an approver's answer with what belongs to it.
type Decision struct {
	Verdict Verdict
	// Reason is shown to the model where the verdict is [Deny].
	Reason string
	// Arguments replace the call's where the verdict is [Modify].
	Arguments json.RawMessage
	// By is who decided, for the record. Default: "approver".
	By string
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
func Approve(q Question) tool.Middleware {
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
			if decision.Verdict == Modify {
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
func (q Question) decide(ctx context.Context, t *Trace, call tool.Call) (Decision, error) {
	switch q.Rule {
	case AllowAll:
		t.ApprovedBy = Operator
		return Decision{Verdict: Allow}, nil
	case DenyAll:
		t.ApprovedBy = Operator
		return Decision{}, denied(call.Name, "the operator does not allow this tool")
	}
	caller := t.caller()
	d, err := ask(ctx, caller, q.request(call, caller.ID()))
	if caller.Approver() != nil {
		t.ApprovedBy = cmp.Or(d.By, "approver")
	}
	return d, err
}

// ask gets a yes from the approver, or the error that stands for its no.
func ask(ctx context.Context, caller Caller, r Request) (Decision, error) {
	refuse := func(code tool.Code, msg, hint string, cause error) *tool.Error {
		return &tool.Error{Code: code, Tool: r.Call.Name, Stage: tool.StageApprove, Unsent: true, Message: msg, Hint: hint, Err: cause}
	}
	approver := caller.Approver()
	if approver == nil {
		return Decision{}, refuse(tool.CodeApprovalRequired,
			fmt.Sprintf("Tool %s is dangerous and needs approval, and there is nobody to give it", r.Call.Name),
			"run it from a terminal or with --yes; in a program, give the session an approver", nil)
	}
	d, err := protected(ctx, approver, r)
	var panicked *Panic
	switch {
	case errors.As(err, &panicked):
		e := refuse(tool.CodeApprovalDenied, fmt.Sprintf("Approval failed for tool: %s: %v", r.Call.Name, err), stop, err)
		e.Detail = panicked.Stack
		return Decision{}, e
	case ctx.Err() != nil:
		return Decision{}, refuse(tool.CodeOf(ctx.Err()), fmt.Sprintf("The call of tool %s ended before anybody approved it: %v", r.Call.Name, deadline.Cause(ctx)), "", ctx.Err())
	case err != nil:
		return Decision{}, refuse(tool.CodeApprovalDenied, fmt.Sprintf("Approval failed for tool: %s: %v", r.Call.Name, err), stop, err)
	case d.Verdict == Allow || d.Verdict == Modify:
		return d, nil
	}
	return d, denied(r.Call.Name, d.Reason)
}

// protected asks an approver, whose panic is an error.
func protected(ctx context.Context, a Approver, r Request) (d Decision, err error) {
	defer func() {
		if v := recover(); v != nil {
			d, err = Decision{}, Recovered("the approver", v)
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
	return &tool.Error{
		Code: tool.CodeApprovalDenied, Tool: name, Stage: tool.StageApprove, Unsent: true, Message: msg, Hint: stop,
	}
}
