package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Approver says yes or no to dangerous calls, or asks somebody who does.
type Approver interface {
	// Approve decides. It returns soon after its context ends; an error counts
	// as no.
	Approve(context.Context, Request) (Decision, error)
}

// ApproverFunc is a function as an [Approver].
type ApproverFunc func(context.Context, Request) (Decision, error)

// Approve implements [Approver].
func (f ApproverFunc) Approve(ctx context.Context, r Request) (Decision, error) { return f(ctx, r) }

// Request is what an approver decides on.
type Request struct {
	Call       tool.Call
	Definition tool.Definition
	// Plugin serves the tool; empty: a function of this process.
	Plugin string
	// Session is the caller's ID.
	Session string
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

// Approve asks the caller's approver about calls of dangerous tools. For other
// tools the step is left out. No approver means no.
//
// # Errors
//
// [tool.CodeApprovalRequired] where there is no approver;
// [tool.CodeApprovalDenied] where it says no or fails;
// [tool.CodeInvalidArguments] where its own arguments do not fit.
func Approve(def *tool.Definition, plugin string, input *schema.Schema) tool.Middleware {
	if def.Safety.Effective() < tool.Dangerous {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			caller := t.caller()
			t.Decision = audit.Denied // until somebody says yes
			decision, err := ask(ctx, caller, Request{Call: call, Definition: def.Clone(), Plugin: plugin, Session: caller.ID()})
			if caller.Approver() != nil {
				t.ApprovedBy = cmp.Or(decision.By, "approver")
			}
			if err != nil {
				return tool.Result{}, err
			}
			if decision.Verdict == Modify {
				if err := CheckArguments(input, call.Name, decision.Arguments); err != nil {
					return tool.Result{}, err
				}
				call.Arguments = decision.Arguments
			}
			t.Decision = audit.Approved
			return next(ctx, call)
		}
	}
}

// ask gets a yes from the approver, or the error that stands for its no.
func ask(ctx context.Context, caller Caller, r Request) (Decision, error) {
	refuse := func(code tool.Code, msg, hint string, cause error) error {
		return &tool.Error{Code: code, Tool: r.Call.Name, Stage: tool.StageApprove, Unsent: true, Message: msg, Hint: hint, Err: cause}
	}
	approver := caller.Approver()
	if approver == nil {
		return Decision{}, refuse(tool.CodeApprovalRequired,
			fmt.Sprintf("Tool %s is dangerous and needs approval, and there is nobody to give it", r.Call.Name),
			"run it from a terminal or with --yes; in a program, give the session an approver", nil)
	}
	d, err := approver.Approve(ctx, r)
	switch {
	case ctx.Err() != nil:
		return Decision{}, refuse(tool.CodeOf(ctx.Err()), fmt.Sprintf("The call of tool %s ended before anybody approved it: %v", r.Call.Name, deadline.Cause(ctx)), "", ctx.Err())
	case err != nil:
		return Decision{}, refuse(tool.CodeApprovalDenied, fmt.Sprintf("Approval failed for tool: %s: %v", r.Call.Name, err), "", err)
	case d.Verdict == Allow || d.Verdict == Modify:
		return d, nil
	}
	msg := "Approval denied for tool: " + r.Call.Name
	if d.Reason != "" {
		msg += ": " + d.Reason
	}
	return d, refuse(tool.CodeApprovalDenied, msg, "", nil)
}
