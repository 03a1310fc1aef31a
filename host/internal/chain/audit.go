package chain

import (
	"context"
	"errors"
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
func (a *Audit) End() Middleware {
	if a == nil {
		return nil
	}
	arguments := a.wantsArguments()
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			res, err := next(ctx, call)
			r := record(audit.End, t, call)
			if arguments {
				describe(&r, t, call, err)
			}
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
			if err := a.write(r); err != nil {
				a.OnError(fmt.Errorf("call %s of tool %s has no end line: %w", call.ID, call.Name, err))
			}
			return res, err
		}
	}
}

// Begin puts calls of cautious and dangerous tools on record before they can have
// an effect, and those of safe tools where that is required.
//
// # Errors
//
// [tool.CodeUnavailable] where the record cannot be written and is required.
func (a *Audit) Begin(def *tool.Definition) Middleware {
	if a == nil {
		return nil
	}
	level := def.Safety.Effective()
	required := a.Required != tool.Unset && level >= a.Required
	if level == tool.Safe && !required {
		return nil
	}
	arguments := a.wantsArguments()
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			r := record(audit.Begin, t, call)
			if arguments {
				describe(&r, t, call, nil)
			}
			r.Time = t.now()
			if err := a.write(r); err != nil {
				a.OnError(fmt.Errorf("call %s of tool %s has no begin line: %w", call.ID, call.Name, err))
				if required {
					return tool.Result{}, because(refuse(tool.StageAudit, tool.CodeUnavailable, call.Name,
						fmt.Sprintf("tool %s did not run: the call cannot be put on record: %v", call.Name, err),
						"make room for the audit log, or do not require it for this safety level"), err)
				}
			}
			return next(ctx, call)
		}
	}
}

// wantsArguments reports whether the sink takes Arguments and Input.
func (a *Audit) wantsArguments() bool {
	selective, ok := a.Sink.(audit.Selective)
	return !ok || selective.WantsArguments()
}

// write has the sink take a record. That it panics is its own affair, and not the
// call's.
func (a *Audit) write(r audit.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered("the audit sink", v)
		}
	}()
	return a.Sink.Write(r)
}

// record is what is known of a call by now, but for what the tool was given.
func record(event string, t *Trace, call tool.Call) audit.Record {
	r := audit.Record{
		Event: event, Call: call.ID, Session: t.caller().ID(), Tool: call.Name,
		Plugin: t.Plugin, Definition: t.Digest, Attempts: t.Attempts,
		Decision: t.Decision, Approver: t.ApprovedBy,
	}
	if t.Definition != nil {
		r.Tool = t.Definition.Name
	}
	return r
}

// describe adds what the tool was given, and what was asked for where that differs.
// Err is what the call ended with.
func describe(r *audit.Record, t *Trace, call tool.Call, err error) {
	switch m := t.Modified; {
	case t.Definition == nil:
		r.Input, r.Arguments = redactUnknown(call.Arguments, nil, nil)
	case t.Decision == "" && isInvalid(err):
		known := argumentNames(t.Definition.InputSchema)
		r.Input, r.Arguments = redactUnknown(call.Arguments, t.Definition.Sensitive, known)
	case m != nil:
		r.Input, r.Arguments = redact(m.Given, t.Definition.Sensitive)
		r.AskedInput, r.AskedArguments = redact(m.Asked, t.Definition.Sensitive)
	default:
		r.Input, r.Arguments = redact(call.Arguments, t.Definition.Sensitive)
	}
}

// isInvalid reports whether arguments were refused by their schema or size.
func isInvalid(err error) bool {
	var e *tool.Error
	return errors.As(err, &e) && e.Stage == tool.StageValidate
}
