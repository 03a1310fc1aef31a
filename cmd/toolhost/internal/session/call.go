package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Allowance is the most that a caller may have.
type Allowance struct {
	All    bool // the caller is the operator
	Grants []tool.Capability
	Yes    bool // --yes counts
	// Caller is what the caller has without asking.
	Caller setup.Caller
}

// CallAs runs a call in a session of its own, with what the caller asks for and may have. A
// refusal says so if the caller asked for more.
func CallAs(ctx context.Context, h *host.Host, c control.Call, may Allowance, asked setup.Askers) control.Answer {
	session := h.Session(host.WithCaller(host.Caller{Name: may.Caller.Name()}))
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }()
	return CallIn(ctx, h, session, c, may, asked)
}

// CallIn is [CallAs] in a session of the caller, which has no grants.
func CallIn(ctx context.Context, h *host.Host, in *host.Session, c control.Call, may Allowance, asked setup.Askers) control.Answer {
	given, refused := may.split(c.Grants)
	session := in.With(append(may.Caller.Session(), host.WithGrants(given...), host.WithApprover(may.approver(c.Yes, asked)))...)
	ctx, cancel := bounded(ctx, c.Timeout)
	defer cancel()
	out, res, err := session.CallWith(ctx, tool.Call{Name: c.Name, Arguments: c.Arguments, IdempotencyKey: c.IdempotencyKey}, host.CallOptions{})
	answer := control.Answer{Outcome: out, Result: res, Err: err}
	switch code := tool.CodeOf(err); {
	case code == tool.CodePermissionDenied && len(refused) > 0:
		if t, _ := h.Get(c.Name); slices.Contains(refused, t.Permission) {
			return answer.Failed(notGranted(c.Name, may.Caller.Name(), t.Permission))
		}
	case code == tool.CodeApprovalRequired && c.Yes:
		return answer.Failed(yesRefused(c.Name, may.Caller.Name()))
	}
	return answer
}

// split returns the grants that the caller may have, and the others.
func (may Allowance) split(asked []tool.Capability) (given, refused []tool.Capability) {
	for _, c := range asked {
		if may.All || may.Caller.Holds(c) || slices.Contains(may.Grants, c) {
			given = append(given, c)
		} else {
			refused = append(refused, c)
		}
	}
	return given, refused
}

// approver returns an approver that says yes, if the caller did and may; else one that asks. About
// a call whose --yes does not count no one is asked.
func (may Allowance) approver(yes bool, asked setup.Askers) policy.Approver {
	switch {
	case yes && (may.All || may.Yes):
		return setup.SaysYes
	case yes:
		asked = setup.Askers{}
	}
	return may.Caller.Approver(asked)
}

// bounded returns ctx with a time limit; 0: none.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("--timeout of %v is over", limit))
}

func notGranted(name, caller string, c tool.Capability) *tool.Error {
	hint := "ask the user who runs the daemon"
	if caller == setup.CLI {
		hint = fmt.Sprintf("add it to the grants of callers.%s in the configuration, "+
			"start the daemon with toolhost serve --grant %s, or add --no-daemon", caller, c)
	}
	return tool.Errorf(tool.CodePermissionDenied,
		"Permission denied for tool: %s: the daemon does not let the caller %s have %s", name, caller, c).
		Of(name, "").At(callstage.Authorize).NeverSent().Try(hint)
}

func yesRefused(name, caller string) *tool.Error {
	hint := "leave --yes out to be asked on the terminal"
	if caller == setup.CLI {
		hint += ", start the daemon with toolhost serve --yes, or add --no-daemon"
	}
	return tool.Errorf(tool.CodeApprovalRequired,
		"tool %s is dangerous, and the daemon does not accept --yes from the caller %s", name, caller).
		Of(name, "").At(callstage.Approve).NeverSent().Try(hint)
}

// ParseGrants parses the values of --grant.
//
// # Errors
//
// [*exit.Error] for a word that is not a capability.
func ParseGrants(words []string) ([]tool.Capability, error) {
	var out []tool.Capability
	for _, w := range words {
		c := tool.Capability(w)
		if !c.Valid() {
			return nil, exit.Usage(fmt.Sprintf("%q is not a valid capability", w),
				"a capability is a word, or two words with a colon between them, such as fs:read")
		}
		out = append(out, c)
	}
	return out, nil
}
