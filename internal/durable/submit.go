package durable

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// DefaultTTL is how long a call waits for a worker whose [Request] does not say.
const DefaultTTL = 24 * time.Hour

// Submit puts a call into the queue and returns its ID, by which it is found after a restart too.
// When it returns, the server has stored the call.
//
// # Errors
//
// [tool.CodeNotFound] for an unknown tool, and those of [Config.Find];
// [tool.CodeInvalidArguments] for a request that cannot be used, such as [AtLeastOnce] for a tool that
// cannot, or an idempotency key of another call; [tool.CodeResourceExhausted] if the queue is full
// or the arguments do not fit into a message; [tool.CodeUnavailable] if the server does not answer: the
// call may be there, and the same request with an idempotency key finds it.
func (c *Calls) Submit(ctx context.Context, r Request) (id string, err error) {
	e, err := c.envelope(ctx, &r)
	if err != nil {
		return "", err
	}
	o, key := e.order, keyOf(e.Key, e.ID)
	e.revision, err = c.create(ctx, key, (&record{sealed: e.sealed}).pack())
	if errors.Is(err, jetstream.ErrKeyExists) {
		e, err = c.again(ctx, e)
	}
	if err != nil {
		return "", c.refused(r.Tool, err)
	}
	if e == nil { // it has begun, or ended
		return o.ID, nil
	}
	if err := c.enqueue(ctx, e); err != nil {
		err = c.refused(r.Tool, err)
		if tool.CodeOf(err) == tool.CodeResourceExhausted {
			// It expires otherwise.
			_ = c.store.bucket.Purge(context.WithoutCancel(ctx), key, jetstream.LastRevision(e.revision))
		}
		return "", err
	}
	return o.ID, nil
}

// Hold stores a call that waits for a yes, so that it is found after a restart. [Calls.Submit] with its ID puts it into
// the queue, as it is by then.
//
// # Errors
//
// Those of [Calls.Submit].
func (c *Calls) Hold(ctx context.Context, r Request) error {
	e, err := c.envelope(ctx, &r)
	if err != nil {
		return err
	}
	held, err := (&record{sealed: e.sealed, order: e.order}).with(c.cfg.Key, status{State: StateWaiting, Host: c.cfg.Name}, e.arguments)
	if err != nil {
		return err
	}
	if _, err = c.create(ctx, keyOf(e.Key, e.ID), held.pack()); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return c.refused(r.Tool, err)
	}
	return nil
}

// Refuse ends a call that [Calls.Hold] has stored, if it still waits.
//
// # Errors
//
// Those of [Calls.Cancel].
func (c *Calls) Refuse(ctx context.Context, id string, why error) error {
	r, at, err := c.get(ctx, id)
	if err != nil || r.state() != StateWaiting {
		return err
	}
	return c.end(ctx, r, at.Revision(), StateFailed, fault.Sent(why), false)
}

// envelope makes what a request puts into the queue. Its revision is not known yet.
func (c *Calls) envelope(ctx context.Context, r *Request) (*envelope, error) {
	o, arguments, err := c.order(ctx, r)
	if err != nil {
		return nil, err
	}
	c.keep()
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	sealed, err := seal(c.cfg.Key, forOrder, body)
	return &envelope{order: o, sealed: sealed, arguments: arguments}, err
}

func (c *Calls) create(ctx context.Context, key string, stored []byte) (revision uint64, err error) {
	if err := c.store.admit(ctx); err != nil {
		return 0, err
	}
	revision, err = c.store.bucket.Create(ctx, key, stored)
	if c.store.madeAgain(ctx, err, &c.cfg) {
		revision, err = c.store.bucket.Create(ctx, key, stored)
	}
	return revision, err
}

// IDOf returns the ID that a request has in the queue, which has to have one, or an idempotency key.
//
// # Errors
//
// Those of [Calls.Submit] for the request.
func (c *Calls) IDOf(ctx context.Context, r Request) (string, error) {
	o, _, err := c.order(ctx, &r)
	if err != nil {
		return "", err
	}
	return o.ID, nil
}

// order makes the order of a request, and its arguments as they are sent.
func (c *Calls) order(ctx context.Context, r *Request) (*order, []byte, error) {
	find, at := c.cfg.Find, ""
	if r.Own {
		find, at = c.cfg.own, c.cfg.Name
	}
	t, err := find(r.Tool)
	if err != nil {
		return nil, nil, err
	}
	bad := func(code tool.Code, format string, args ...any) *tool.Error {
		return tool.Errorf(code, format, args...).Of(r.Tool, "").At(callstage.Validate).NeverSent()
	}
	mode := r.Mode
	if mode == "" {
		if mode = AtMostOnce; t.Repeatable {
			mode = AtLeastOnce
		}
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = min(DefaultTTL, c.cfg.Keep)
	}
	arguments := new(bytes.Buffer)
	switch {
	case mode == AtLeastOnce && !t.Repeatable:
		return nil, nil, bad(tool.CodeInvalidArguments, "tool %s cannot run at least once: it does not say that it is idempotent", r.Tool).
			Try("submit the call at most once").Fix("or say in the rule of the tool that it looks at the idempotency key")
	case ttl < time.Millisecond || ttl > c.cfg.Keep:
		return nil, nil, bad(tool.CodeInvalidArguments, "a call waits between 1ms and %v for a worker, not %v", c.cfg.Keep, ttl)
	case len(r.Arguments) == 0:
		arguments.WriteString("{}")
	default:
		if err := json.Compact(arguments, r.Arguments); err != nil || arguments.Bytes()[0] != '{' {
			return nil, nil, bad(tool.CodeInvalidArguments, "Invalid tool call: the arguments are not a JSON object")
		}
	}
	if most := int(c.cfg.Conn.MaxPayload()) - overhead; arguments.Len() > most {
		return nil, nil, bad(tool.CodeResourceExhausted, "the arguments of the durable call of %s have %d bytes, and a message takes %d",
			r.Tool, arguments.Len(), most).Fix("raise max_payload of the NATS server")
	}
	trace := tool.TraceFrom(ctx)
	o := &order{
		ID: cmp.Or(r.ID, rand.Text()), Key: c.cfg.Key.Public(), Host: c.cfg.Name, Caller: r.Caller, Tool: t.Tool, Digest: t.Digest, At: at,
		Arguments: sumOf(arguments.Bytes()), Mode: mode, Named: r.IdempotencyKey, TTL: ttl.Milliseconds(),
		Submitted: c.cfg.Now().UTC(),
	}
	if len(trace.Parent)+len(trace.State) <= 1<<10 {
		o.Trace, o.Tracing = trace.Parent, trace.State
	}
	if o.Named != "" {
		o.ID = idOf(o.Key, o.Caller, o.Tool, o.Named)
	}
	if err := o.check(); err != nil {
		return nil, nil, bad(tool.CodeInvalidArguments, "the call cannot be submitted: %w", err)
	}
	return o, arguments.Bytes(), nil
}

// again returns the call that has the idempotency key of another, or waits for a yes, if it has to be put into the
// queue: the host may have ended before it was.
func (c *Calls) again(ctx context.Context, now *envelope) (*envelope, error) {
	o := now.order
	r, at, err := c.store.read(ctx, keyOf(o.Key, o.ID))
	if err != nil {
		return nil, err
	}
	if r.state() == StateWaiting && r.Caller == o.Caller && r.Tool == o.Tool { // who said yes may have changed the arguments
		now.revision, err = c.store.swap(ctx, &record{sealed: now.sealed, order: o}, at.Revision())
		return now, err
	}
	if r.Tool != o.Tool || r.Caller != o.Caller || r.Named != o.Named || r.Arguments != o.Arguments {
		return nil, tool.Errorf(tool.CodeInvalidArguments,
			"Invalid tool call: the idempotency key %.64q belongs to another call", cmp.Or(o.Named, o.ID)).
			Of(o.Tool, "").At(callstage.Validate).NeverSent().
			Try("use a new key for each call, and the same one only to repeat a call as it was")
	}
	if s := r.s; s != nil && s.State == StateFailed && s.Attempt == 0 && s.Error.Code == tool.CodeUnavailable {
		now.revision, err = c.store.swap(ctx, &record{sealed: now.sealed, order: o}, at.Revision()) // see unqueued
		return now, err
	}
	if r.s != nil {
		return nil, nil
	}
	return &envelope{order: r.order, sealed: r.sealed, revision: at.Revision(), arguments: now.arguments}, nil
}

func (c *Calls) enqueue(ctx context.Context, e *envelope) error {
	data, err := e.pack(c.cfg.Key)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s.%d", e.ID, e.revision) // as the ticket: another revision of the record does not repeat it
	publish := func() error {
		_, err := c.store.js.PublishMsg(ctx, &nats.Msg{Subject: e.subject(), Data: data}, jetstream.WithMsgID(id), jetstream.WithExpectStream(QueueName))
		return err
	}
	if err = publish(); c.store.madeAgain(ctx, err, &c.cfg) {
		err = publish()
	}
	if err != nil {
		return err
	}
	return c.cfg.Conn.Publish(nudges+e.token(), nil)
}

// refused explains why a call is not in the queue.
func (c *Calls) refused(name string, err error) error {
	var api *jetstream.APIError
	var e *tool.Error
	switch {
	case errors.As(err, &e), errors.Is(err, context.Canceled):
		return err
	case isFull(err):
		e = tool.Errorf(tool.CodeResourceExhausted, "the queue of durable calls is full: %w", err).NeverSent().
			Try("try again later").Fix("more workers, or a larger nats.queue.bytes; toolhost doctor says how full it is")
	case errors.As(err, &api), errors.Is(err, jetstream.ErrNoStreamResponse):
		e = unavailable("the call was not submitted", err).NeverSent()
	default: // an answer was lost
		e = tool.Errorf(tool.CodeUnavailable, "it is not known whether the call of %s is in the queue: %w", name, err).
			Try("find out before you repeat it").Fix(remedy.Jobs.String())
	}
	e.Tool = name
	return e
}

// Cancel ends a call that has not ended: one that waits is not begun, and the context of one that runs
// ends soon after. A call that has ended stays as it is.
//
// # Errors
//
// [tool.CodeNotFound]; [tool.CodeUnavailable] if the server does not answer.
func (c *Calls) Cancel(ctx context.Context, id string) error {
	for {
		r, at, err := c.get(ctx, id)
		if err != nil {
			return err
		}
		if r.state().Ended() {
			return nil
		}
		err = c.end(ctx, r, at.Revision(), StateCanceled, tool.Errorf(tool.CodeCanceled, "the call of %s was canceled", r.Tool), false)
		if errors.Is(err, errLost) && ctx.Err() == nil { // the worker has reported meanwhile
			continue
		}
		if err != nil {
			return unavailable("the call was not canceled", err)
		}
		_ = c.cfg.Conn.Publish(interrupt+id, nil)                             // the worker finds out without it too
		_ = c.store.queue.Purge(ctx, jetstream.WithPurgeSubject(r.subject())) // so does who fetches it
		return nil
	}
}

// end replaces a revision of an own call's record by an end that this host has found, or, without an error, has
// another worker take it.
func (c *Calls) end(ctx context.Context, r *record, revision uint64, state State, e *tool.Error, unknown bool) error {
	s := status{State: state, Error: e, Unknown: unknown, Host: c.cfg.Name}
	if r.s != nil {
		s.Attempt, s.Started, s.Queued, s.Host = r.s.Attempt, r.s.Started, r.s.Queued, r.s.Host
	}
	if e != nil {
		e.Tool, s.Ended = r.Tool, c.cfg.Now().UTC()
	}
	next, err := r.with(c.cfg.Key, s, nil)
	if err != nil {
		return err
	}
	_, err = c.store.swap(ctx, next, revision)
	return err
}
