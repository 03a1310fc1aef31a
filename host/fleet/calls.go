package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ErrGoesOn is what the error of a durable call wraps that is not waited for any longer: it goes on,
// and [Fleet.WaitCall] returns how it ends.
var ErrGoesOn = errors.New("the call goes on")

type submission struct {
	id        string
	submitted func(id string)
}

type submissionKey struct{}

// WithSubmission returns the context of a call that may be durable. The ID is that of the call, as
// crypto/rand.Text returns; empty: a new one. A call with an idempotency key has another. Submitted is called
// with the call's ID once the queue has it, before it is waited for; it may be nil.
func WithSubmission(ctx context.Context, id string, submitted func(id string)) context.Context {
	return context.WithValue(ctx, submissionKey{}, submission{id, submitted})
}

// idLength is that of a call's ID.
const idLength = 26

// submitTime bounds how long a call may take to get into the queue.
const submitTime = 5 * time.Second

// queued runs the call by way of the queue, and waits for its end. It is in the queue at most once: the
// chain does not repeat it.
func (r *remoteCall) queued(ctx context.Context) (tool.Result, error) {
	name := r.call.Name
	var trace *chain.Trace
	if p := chain.PassedFrom(ctx); p != nil {
		trace = p.Trace
		trace.Once = true
	}
	if r.on != "" {
		return tool.Result{}, tool.Errorf(tool.CodeInvalidArguments,
			"calls of tool %s wait in a queue, from which the hosts take them: none can be chosen", name).
			Of(name, "").NeverSent().Try("call it without a host")
	}
	if ctx.Err() != nil {
		return tool.Result{}, r.gaveUp(ctx)
	}
	calls, err := r.routes.queue.open(ctx, true)
	if err != nil {
		e := *tool.AsError(err)
		e.Tool, e.Unsent = name, true
		e.Message = fmt.Sprintf("the durable call of %s was not submitted: %s", name, e.Message)
		return tool.Result{}, &e
	}
	s, _ := ctx.Value(submissionKey{}).(submission)
	request := r.request(s)
	id, err := calls.IDOf(ctx, request)
	if err != nil {
		return tool.Result{}, err
	}
	trace.Submit(r.call, id)
	submit, cancel := context.WithTimeout(context.WithoutCancel(ctx), submitTime) // so that it is known whether it was
	_, err = calls.Submit(submit, request)
	cancel()
	if err != nil {
		return tool.Result{}, err
	}
	begin := time.Now()
	chain.Yield(ctx) // those that wait here, or are slow to read the ID, hold up no others
	if s.submitted != nil {
		s.submitted(id)
	}
	c, err := calls.Wait(ctx, id)
	if err != nil {
		if err = goesOn(ctx, name, id, err); errors.Is(err, ErrGoesOn) {
			trace.Later(func(end func(tool.Result, error)) { r.routes.queue.followed(id, name, err, end) })
		}
		return tool.Result{}, err
	}
	if trace != nil {
		trace.Elsewhere(sanitize.Line(c.Worker, maxLabelLength), answer{Phases: c.Phases}.phases(time.Since(begin)))
	}
	return outcomeOf(c, name)
}

// maxFollowed bounds the calls whose callers have gone, and whose ends are waited for, to be recorded.
const maxFollowed = 1024

// followed has the end of a call recorded whose caller has gone, as the error says. When the host ends before
// it, nothing is recorded: the log says that the call has begun.
func (q *queue) followed(id, name string, err error, end func(tool.Result, error)) {
	if q.following.Add(1) > maxFollowed {
		q.following.Add(-1)
		end(tool.Result{}, err)
		return
	}
	go func() {
		defer q.following.Add(-1)
		c, err := q.WaitCall(q.life, id)
		if err == nil {
			end(outcomeOf(c, name))
		} else if q.life.Err() == nil && !errors.Is(err, ErrGoesOn) {
			end(tool.Result{}, err)
		}
	}()
}

// request returns the call as the queue takes it.
func (r *remoteCall) request(s submission) durable.Request {
	out := durable.Request{
		ID: cmp.Or(s.id, rand.Text()), Tool: r.call.Name, Arguments: r.call.Arguments, Caller: r.call.Caller,
		IdempotencyKey: r.call.IdempotencyKey, Mode: r.rule.Durable, Own: r.tool == nil,
	}
	if key := out.IdempotencyKey; key != "" && out.Caller == "" { // it is one among those of the session
		sum := sha256.Sum256([]byte(r.call.Session + "\x00" + out.Tool + "\x00" + key))
		out.ID, out.IdempotencyKey = base32.StdEncoding.EncodeToString(sum[:])[:idLength], ""
	}
	return out
}

// goesOn is the error of a call that is not waited for any longer.
func goesOn(ctx context.Context, name, id string, err error) error {
	code := tool.CodeOf(err)
	switch {
	case ctx.Err() != nil:
		code = tool.CodeOf(ctx.Err())
	case code != tool.CodeUnavailable: // it is gone, or not believed
		e := *tool.AsError(err)
		e.Tool = name
		return &e
	}
	of := ""
	if name != "" {
		of = " of " + name
	}
	return tool.Errorf(code, "the durable call %s%s is not waited for any longer, and goes on: %v", id, of, err).
		Of(name, Owner).At(callstage.Execute).Because(fmt.Errorf("%w: %w", ErrGoesOn, err)).
		Try("do not repeat the call: it goes on, and the tool would run twice").
		Fix(remedy.Job.For(id))
}

// outcomeOf returns how a call of a tool, by its name here, has ended.
func outcomeOf(c durable.Call, name string) (tool.Result, error) {
	res, err := c.Outcome()
	if err == nil {
		return withoutAnswer(res), nil
	}
	e := *tool.AsError(err)
	e.Tool = name
	if c.State == durable.StateFailed && c.Worker != "" && !errors.Is(err, durable.ErrOutcomeUnknown) {
		return tool.Result{}, ofHost(&e, sanitize.Line(c.Worker, maxLabelLength))
	}
	return tool.Result{}, &e
}

// DurableMode returns how often a call of a tool of the host may run; empty: its calls are not durable.
func (q *queue) DurableMode(name string) durable.Mode {
	if owner, there := q.host.OwnerOf(name); !there || owner != Owner {
		if !there {
			return ""
		}
		return q.ownMode(name)
	}
	t, _ := q.host.Get(name)
	if m := q.mounts.tool(t.Claimed.Name); m != nil {
		return m.durable
	}
	return ""
}

// ListCalls returns the durable calls of this host's key without their results, those submitted last
// first, at most 10,000. Tools have their names here.
//
// # Errors
//
// [tool.CodeNotFound] if there is no queue; [tool.CodeUnavailable] if the server does not answer; the context's end.
func (q *queue) ListCalls(ctx context.Context) ([]Job, error) {
	calls, err := q.open(ctx, false)
	if err != nil {
		return nil, err
	}
	all, err := calls.List(ctx)
	for i := range all {
		all[i] = q.here(all[i])
	}
	return all, err
}

// GetCall returns a durable call without its result.
//
// # Errors
//
// [tool.CodeNotFound] if there is no queue, or such a call; [tool.CodeInvalidResult] if what is stored of it was
// written by a host that may not; [tool.CodeUnavailable] if the server does not answer.
func (q *queue) GetCall(ctx context.Context, id string) (Job, error) {
	calls, err := q.open(ctx, false)
	if err != nil {
		return Job{}, err
	}
	c, err := calls.Peek(ctx, id)
	return q.here(c), err
}

// WaitCall returns a durable call when it has ended. That it has failed is not an error.
//
// # Errors
//
// [tool.CodeNotFound] if there is no queue; those of [durable.Calls.Wait], which wrap [ErrGoesOn] if
// the call goes on.
func (q *queue) WaitCall(ctx context.Context, id string) (Job, error) {
	calls, err := q.open(ctx, false)
	if err != nil {
		return Job{}, err
	}
	c, err := calls.Wait(ctx, id)
	c = q.here(c)
	if err != nil {
		err = goesOn(ctx, c.Tool, id, err)
	}
	return c, err
}

// Received returns how a call that [Fleet.WaitCall] returned has ended, as a session of its caller gets it: see
// [host.Session.Receive].
func (q *queue) Received(ctx context.Context, s *host.Session, c Job) (host.Outcome, tool.Result, error) {
	name := c.Tool
	if owner, _ := q.host.OwnerOf(name); !c.Own && owner != Owner && q.mounts.tool(name) != nil { // the operator may have renamed it
		for _, t := range q.host.Tools(host.Filter{}) {
			if t.Owner == Owner && t.Claimed.Name == c.Tool {
				name = t.Name
			}
		}
	}
	res, err := outcomeOf(c, name)
	return s.Receive(ctx, tool.Call{ID: c.ID, Name: name}, res, err)
}

// CancelCall ends a durable call. One that has ended stays as it is.
//
// # Errors
//
// [tool.CodeNotFound] if there is no queue; those of [durable.Calls.Cancel].
func (q *queue) CancelCall(ctx context.Context, id string) error {
	calls, err := q.open(ctx, false)
	if err != nil {
		return err
	}
	return calls.Cancel(ctx, id)
}

// here returns a call by the name that its tool has on this host, and fit to be shown.
func (q *queue) here(c durable.Call) durable.Call {
	if c.Tool != "" && !c.Own {
		c.Tool = q.settings.Load().Prefix + c.Tool
	}
	c.Worker = sanitize.Line(c.Worker, maxLabelLength)
	if c.Error != nil {
		e := *c.Error
		e.Tool = c.Tool
		c.Error = &e
	}
	return c
}
