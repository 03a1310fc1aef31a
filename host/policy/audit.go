package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Audit is where calls are put on record, and what happens if that fails.
type Audit struct {
	// Sink takes the records. Required.
	Sink audit.Sink
	// Required is the safety level from which on a call is refused if its begin
	// line cannot be written. Unset: none is.
	Required tool.Safety
	// OnError is told of records that could not be written. Required.
	OnError func(error)
}

// End puts every call on record when it has ended, however it did. Nil leaves
// the step out.
func (a *Audit) End() tool.Middleware {
	if a == nil {
		return nil
	}
	arguments := audit.WantsArguments(a.Sink)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			res, err := next(ctx, call)
			r := record(audit.End, t, call, arguments)
			took := time.Since(t.Begin)
			r.Time, r.Duration = t.Begin.Add(took), tool.Duration(took)
			switch {
			case err != nil:
				r.Code, r.Message = tool.CodeOf(err), err.Error()
			case res.IsError:
				r.Code, r.Message = tool.CodeToolFailed, res.Text()
			}
			if t.Definition != nil && len(t.Definition.Sensitive) > 0 {
				r.Message = "" // it may quote what must not be written down
			}
			if err := a.Sink.Write(r); err != nil {
				a.OnError(fmt.Errorf("call %s of tool %s has no end line: %w", call.ID, call.Name, err))
			}
			return res, err
		}
	}
}

// Begin puts calls of cautious and dangerous tools on record before they can have
// an effect. For safe tools the step is left out.
//
// # Errors
//
// [tool.CodeUnavailable] where the record cannot be written and is required.
func (a *Audit) Begin(def *tool.Definition) tool.Middleware {
	level := def.Safety.Effective()
	if a == nil || level == tool.Safe {
		return nil
	}
	required := a.Required != tool.Unset && level >= a.Required
	arguments := audit.WantsArguments(a.Sink)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			t.Arguments = call.Arguments // an approver may have changed them
			r := record(audit.Begin, t, call, arguments)
			r.Time = t.now()
			if err := a.Sink.Write(r); err != nil {
				a.OnError(fmt.Errorf("call %s of tool %s has no begin line: %w", call.ID, call.Name, err))
				if required {
					return tool.Result{}, &tool.Error{
						Code: tool.CodeUnavailable, Tool: call.Name, Stage: tool.StageAudit, Unsent: true, Err: err,
						Message: fmt.Sprintf("Tool %s did not run: the call cannot be put on record: %v", call.Name, err),
						Hint:    "make room for the audit log, or do not require it for this safety level",
					}
				}
			}
			return next(ctx, call)
		}
	}
}

// record is what is known of a call by now, what the tool was given only where
// that is asked for.
func record(event string, t *Trace, call tool.Call, arguments bool) audit.Record {
	r := audit.Record{
		Event: event, Call: call.ID, Session: t.caller().ID(), Tool: call.Name,
		Plugin: t.Plugin, Definition: t.Digest, Attempts: t.Attempts,
		Decision: t.Decision, Approver: t.ApprovedBy,
	}
	if t.Definition != nil {
		r.Tool = t.Definition.Name
	}
	if arguments {
		describe(&r, t, call)
	}
	return r
}

// describe adds what the tool was given.
func describe(r *audit.Record, t *Trace, call tool.Call) {
	args := t.Arguments
	if args == nil {
		args = call.Arguments
	}
	if t.Definition == nil {
		// What is sensitive is not known, so only the digest is kept.
		r.Arguments = audit.Digest(args)
		return
	}
	r.Input, r.Arguments = audit.Redact(args, t.Definition.Sensitive)
}
