package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Audit writes the audit records of calls.
type Audit struct {
	// Sink receives the records. Required.
	Sink audit.Sink
	// Required is the lowest safety level at which a call is refused if its
	// begin record cannot be written. Unset: no call is refused.
	Required tool.Safety
	// OnError is called with the error of each record that could not be
	// written. Required.
	OnError func(error)
}

// End records every call when it has ended, whatever the outcome. A nil Audit
// skips the step.
func (a *Audit) End() Middleware {
	if a == nil {
		return nil
	}
	arguments := a.wantsArguments()
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			t.audit = a
			res, err := next(ctx, call)
			r := record(audit.End, t, call)
			if arguments {
				describe(&r, t, call, err)
			}
			took := time.Since(t.Begin)
			t.Finish(took, call, res)
			sensitive := t.Definition != nil && len(t.Definition.Sensitive) > 0
			if t.later != nil {
				a.endsLater(t, r, sensitive)
				return res, err
			}
			r.Phases = t.Phases()
			a.ended(r, t.Begin, took, sensitive, res, err)
			return res, err
		}
	}
}

// endsLater has the end line of a call written when it has come back. It is a function of its own so that the records of other
// calls need no allocation.
func (a *Audit) endsLater(t *Trace, r audit.Record, sensitive bool) {
	begin := t.Begin
	t.later(func(res tool.Result, err error) { a.ended(r, begin, time.Since(begin), sensitive, res, err) })
}

// ended writes the end line of a call.
func (a *Audit) ended(r audit.Record, begin time.Time, took time.Duration, sensitive bool, res tool.Result, err error) {
	r.Time, r.Duration = begin.Add(took), tool.Duration(took)
	switch {
	case err != nil:
		r.Code, r.Message = tool.CodeOf(err), err.Error()
	case res.IsError:
		r.Code, r.Message = tool.CodeToolFailed, res.Text()
	}
	if sensitive {
		r.Message = "" // it may quote secrets
	}
	if err := a.write(r); err != nil {
		a.OnError(fmt.Errorf("call %s of tool %s has no end line: %w", r.Call, r.Tool, err))
	}
}

// Begin records calls of cautious and dangerous tools before they can have an
// effect, and calls of safe tools if the record is required.
//
// # Errors
//
// [tool.CodeUnavailable] if the record is required and cannot be written.
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
					return tool.Result{}, refuse(callstage.Audit, tool.CodeUnavailable, call.Name,
						fmt.Sprintf("tool %s did not run: the call cannot be put on record: %v", call.Name, err), "").
						Fix("make room for the audit log, or do not require it for this safety level").Because(err)
				}
			}
			return next(ctx, call)
		}
	}
}

// Submit puts on record that the call is about to be in the queue of durable calls, by an ID there, so that its end can
// be recorded if this process is killed. Of a nil Trace, nothing is on record.
func (t *Trace) Submit(call tool.Call, id string) {
	if t == nil {
		return
	}
	if t.job = id; t.audit == nil {
		return
	}
	r := record(audit.Begin, t, call)
	if t.audit.wantsArguments() {
		describe(&r, t, call, nil)
	}
	r.Time = t.now()
	if err := t.audit.write(r); err != nil {
		t.audit.OnError(fmt.Errorf("durable call %s of tool %s has no begin line: %w", id, r.Tool, err))
	}
}

// Later has the end of the call recorded by what f is given, and not when the provider returns: the call goes on
// elsewhere. Of a nil Trace, nothing is.
func (t *Trace) Later(f func(end func(tool.Result, error))) {
	if t != nil {
		t.later = f
	}
}

// wantsArguments reports whether the sink accepts Arguments and Input.
func (a *Audit) wantsArguments() bool {
	selective, ok := a.Sink.(audit.Selective)
	return !ok || selective.WantsArguments()
}

// write passes a record to the sink. A panic of the sink becomes an error and
// does not reach the call.
func (a *Audit) write(r audit.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered("the audit sink", v)
		}
	}()
	return a.Sink.Write(r)
}

// record returns the record of a call so far, without its arguments.
func record(event string, t *Trace, call tool.Call) audit.Record {
	r := t.record(event, call.ID, call.Name)
	r.Attempts, r.Decision, r.Approver = t.Attempts, t.Decision, t.ApprovedBy
	return r
}

// record returns what does not change any more while the tool runs.
func (t *Trace) record(event, id, name string) audit.Record {
	caller := t.caller()
	r := audit.Record{
		Event: event, Call: id, Object: t.job, Parent: t.parent(), Trace: t.TraceID(), Tool: name,
		Caller: caller.Name, Account: caller.Account, Via: caller.Via, Client: caller.Client, Session: caller.Session,
		Plugin: t.Plugin, Definition: t.Digest,
	}
	if t.Definition != nil {
		r.Tool = t.Definition.Name
	}
	return r
}

// QuestionRefused is the outcome of a question that did not reach the caller, or that he could not answer.
const QuestionRefused = "refused"

// Asked puts on record that the call has asked its caller: a kind of question and its outcome, a
// [tool.Action] or [QuestionRefused], and nothing of what was asked and answered. It may be called from any
// goroutine while the tool runs; of a nil Trace, nothing is on record.
func (t *Trace) Asked(kind, outcome string, err error) {
	if t == nil || t.audit == nil {
		return
	}
	switch {
	case tool.CodeOf(err) == tool.CodeCanceled, tool.CodeOf(err) == tool.CodeDeadlineExceeded, outcome == "" && err == nil:
		outcome = string(tool.Cancel)
	case err != nil:
		outcome = QuestionRefused
	}
	r := t.record(audit.Question, t.Call, "")
	r.Time, r.Message, r.Decision = t.now(), kind, outcome
	if err := t.audit.write(r); err != nil {
		t.audit.OnError(fmt.Errorf("a question of call %s of tool %s is not on record: %w", r.Call, r.Tool, err))
	}
}

// describe adds the arguments given to the tool, and those the caller asked for
// if they differ. Err is the error that the call ended with.
func describe(r *audit.Record, t *Trace, call tool.Call, err error) {
	switch m := t.Modified; {
	case t.Definition == nil:
		r.Input, r.Arguments = redactUnknown(call.Arguments, nil, nil)
	case t.Decision == "" && isInvalid(err):
		known := jsontree.PropertyNames(t.Definition.InputSchema)
		r.Input, r.Arguments = redactUnknown(call.Arguments, t.Definition.Sensitive, known)
	case m != nil && t.Decision == audit.Denied: // the approver's arguments are not valid
		known := jsontree.PropertyNames(t.Definition.InputSchema)
		r.Input, r.Arguments = redactUnknown(m.Given, t.Definition.Sensitive, known)
		r.AskedInput, r.AskedArguments = redacted(m.Asked, t.Definition.Sensitive)
	case m != nil:
		r.Input, r.Arguments = redacted(m.Given, t.Definition.Sensitive)
		r.AskedInput, r.AskedArguments = redacted(m.Asked, t.Definition.Sensitive)
	default:
		r.Input, r.Arguments = redacted(call.Arguments, t.Definition.Sensitive)
	}
}

// isInvalid reports whether arguments were refused for their schema or size.
func isInvalid(err error) bool {
	var e *tool.Error
	return errors.As(err, &e) && e.Stage == callstage.Validate
}
