package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Askers are those who can be asked about calls that need approval, by the names that the
// configuration has for them. Nil: they cannot be asked here.
type Askers struct {
	// Client is the program that makes the call.
	Client policy.Approver
	// Terminal is the terminal on which this process runs.
	Terminal policy.Approver
	// Queue is the daemon's queue.
	Queue policy.Approver
}

// absent says why no one can be asked in one of the ways.
type absent string

func (a absent) Error() string { return string(a) }

// Is reports that absent is [policy.ErrCannotAsk].
func (a absent) Is(target error) bool { return target == policy.ErrCannotAsk }

// by returns the approver that asks in one way.
func (a Askers) by(asker config.Asker) policy.Approver {
	var found policy.Approver
	why := absent("this version does not know how to ask " + string(asker))
	switch asker {
	case config.AskClient:
		found, why = a.Client, "the program that makes the call cannot ask its user"
	case config.AskTerminal:
		found, why = a.Terminal, "toolhost has no terminal here"
	case config.AskQueue:
		found, why = a.Queue, "no daemon runs that could keep the question"
	}
	if found != nil {
		return found
	}
	return policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		if asker == config.AskClient && r.Via == "" { // the program is toolhost itself
			return policy.Decision{}, absent("there is no terminal to ask on")
		}
		return policy.Decision{}, why
	})
}

// asking returns an approver that asks those whom the configuration names for the caller and the
// tool; nil: no one can be asked in any way.
func (c Caller) asking(a Askers) policy.Approver {
	if a.Client == nil && a.Terminal == nil && a.Queue == nil {
		return nil
	}
	return policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		order := []config.Asker{config.AskClient}
		if c.asked != nil {
			order = c.asked(r.Definition.Name)
		}
		all := make([]policy.Approver, len(order))
		for i, asker := range order {
			all[i] = a.by(asker)
		}
		d, err := policy.InOrder(all...).Approve(ctx, r)
		if errors.Is(err, policy.ErrCannotAsk) && ctx.Err() == nil {
			err = c.unasked(r, order, err)
		}
		return d, err
	})
}

// unasked returns the error of a question that could be put to no one. The person who uses the
// program reads what to do in the program's answer: the hint names the settings, as often no one
// else is there to.
func (c Caller) unasked(r policy.Request, order []config.Asker, why error) error {
	advice := "start the daemon with toolhost serve, and answer with toolhost approvals"
	if !slices.Contains(order, config.AskQueue) {
		advice = fmt.Sprintf("to answer with toolhost approvals, set ask: [client, queue] for the caller %s in toolhost.yaml; "+
			"to approve %s in advance, set approval: allow for it", cmp.Or(c.name, r.Caller), r.Definition.Name)
	}
	if r.Via == "" { // a command made the call
		advice = "run it from a terminal or with --yes; " + advice
	}
	return tool.Errorf(tool.CodeApprovalRequired, "%s", tool.AsError(why).Message).Of(r.Call.Name, "").Because(why).
		Try("it cannot be approved here; tell the user, and do what you can without it. The operator can change that: " + advice).
		Fix(advice)
}
