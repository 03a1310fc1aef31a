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
			if o.Hooks.Before != nil {
				e := event(t, call)
				e.Running = t
				o.Send(o.Hooks.Before, e)
			}
			res, err := next(ctx, call)
			t.isAt(atEnd)
			took, after := time.Since(t.Begin), o.Hooks.After
			t.Finish(took, call, res)
			if err != nil {
				after = o.Hooks.Error
			}
			if after == nil && o.Hooks.Span == nil {
				return res, err
			}
			e := event(t, call)
			e.Duration, e.Result, e.Err = took, res, err
			e.Plugin, e.Decision, e.Approver, e.Attempts, e.Phases = t.Plugin, t.Decision, t.ApprovedBy, t.Attempts, *t.Phases()
			if e.Definition = t.Definition; e.Definition != nil {
				e.Safety = e.Definition.Safety.Effective()
			}
			if o.Hooks.Span != nil {
				o.tell(queued[policy.Event]{o.Hooks.Span, e})
			}
			o.Send(after, e)
			return res, err
		}
	}
}

// event describes a call as it came in.
func event(t *Trace, call tool.Call) policy.Event {
	caller := t.caller()
	return policy.Event{
		Time: t.Begin, Call: call,
		Caller: caller.Name, Account: caller.Account, Via: caller.Via, Client: caller.Client, Session: caller.Session,
		Parent: t.parent(), Trace: t.passed, ParentSpan: t.parentSpan,
	}
}
