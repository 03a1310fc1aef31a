package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// callerPolicy is what a caller may have at most. What it asks for beyond that it does
// not get, and is told so.
type callerPolicy struct {
	all    bool // the caller is the operator
	grants []tool.Capability
	yes    bool // a yes in advance counts
	// facts are what the caller has without asking.
	facts setup.Caller
}

// callAs runs a call as a session of its own, with what it asks for and may have.
func callAs(ctx context.Context, h *host.Host, c control.Call, p callerPolicy, asked policy.Approver) control.Answer {
	given, refused := p.split(c.Grants)
	session := h.Session(append(p.facts.Session(), host.WithGrants(given...), host.WithApprover(p.approver(c.Yes, asked)))...)
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }()
	ctx, cancel := bounded(ctx, c.Timeout)
	defer cancel()
	out, res, err := session.CallDetailed(ctx, tool.Call{Name: c.Name, Arguments: c.Arguments})
	answer := control.Answer{Outcome: out, Result: res, Err: err}
	t, _ := h.Get(c.Name)
	switch {
	case tool.CodeOf(err) == tool.CodePermissionDenied && slices.Contains(refused, t.Permission):
		return answer.Failed(notGranted(c.Name, t.Permission))
	case tool.CodeOf(err) == tool.CodeApprovalRequired && c.Yes:
		return answer.Failed(noYes(c.Name))
	}
	return answer
}

// split are the grants that the caller may have, and the others.
func (p callerPolicy) split(asked []tool.Capability) (given, refused []tool.Capability) {
	for _, c := range asked {
		if p.all || p.facts.Holds(c) || slices.Contains(p.grants, c) {
			given = append(given, c)
		} else {
			refused = append(refused, c)
		}
	}
	return given, refused
}

// approver answers with the yes that the caller brings, if it counts. One who brings
// a yes that does not is not asked for another.
func (p callerPolicy) approver(yes bool, asked policy.Approver) policy.Approver {
	switch {
	case yes && (p.all || p.yes):
		return policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Allow, By: "--yes"}, nil
		})
	case yes:
		asked = nil
	}
	return p.facts.Approver(asked)
}

func notGranted(name string, c tool.Capability) *tool.Error {
	return &tool.Error{
		Code: tool.CodePermissionDenied, Tool: name, Stage: tool.StageAuthorize, Unsent: true,
		Message: fmt.Sprintf("Permission denied for tool: %s: the daemon does not let the caller %s have %s", name, setup.CLI, c),
		Hint:    fmt.Sprintf("add it to the grants of callers.%s in the configuration, start the daemon with toolhost serve --grant %s, or add --no-daemon", setup.CLI, c),
	}
}

func noYes(name string) *tool.Error {
	return &tool.Error{
		Code: tool.CodeApprovalRequired, Tool: name, Stage: tool.StageApprove, Unsent: true,
		Message: fmt.Sprintf("Tool %s is dangerous and needs approval, and the daemon takes no --yes of the caller %s", name, setup.CLI),
		Hint:    "leave --yes out to be asked on the terminal, start the daemon with toolhost serve --yes, or add --no-daemon",
	}
}
