package chain

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Observer reports calls to hooks.
type Observer struct {
	*Queue[policy.Event]
	Hooks policy.Hooks
}

// Observe reports each call to an observer. A nil observer skips the step.
func Observe(o *Observer) Middleware {
	if o == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			caller := t.caller()
			e := policy.Event{
				Time: t.Begin, Call: call,
				Caller: caller.Name, Account: caller.Account, Via: caller.Via, Client: caller.Client, Session: caller.Session,
				Parent: t.parent(), Trace: tool.TraceFrom(ctx), Running: t,
			}
			o.Send(o.Hooks.Before, e)
			res, err := next(ctx, call)
			t.isAt(atEnd)
			e.Running, e.Duration, e.Result, e.Err = nil, time.Since(e.Time), res, err
			t.Finish(e.Duration, call, res)
			e.Plugin, e.Decision, e.Approver, e.Attempts, e.Phases = t.Plugin, t.Decision, t.ApprovedBy, t.Attempts, *t.Phases()
			if t.Definition != nil {
				e.Safety = t.Definition.Safety.Effective()
			}
			if err != nil {
				o.Send(o.Hooks.Error, e)
			} else {
				o.Send(o.Hooks.After, e)
			}
			return res, err
		}
	}
}
