package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Execute implements [tool.Provider].
//
// # Errors
//
// Those of the other host; [tool.CodeUnavailable] if no host can take the call, if the host is lost
// during it, or if the state that the session had there is.
func (s *routes) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	rule := s.settings.Load().ruleOf(call.Name)
	if callctx.Get[bool](ctx, mode.Own{}) {
		return (&remoteCall{routes: s, call: call, rule: rule}).queued(ctx)
	}
	t, p := s.mounts.called(call.Name)
	if t == nil {
		return tool.Result{}, notShared(call.Name)
	}
	idempotent, outer := t.versions[0].def.Get().Idempotent, 0
	if p := chain.PassedFrom(ctx); p != nil && p.Trace.Definition != nil { // as the operator has it
		idempotent, outer = p.Trace.Definition.Idempotent, p.Trace.Definition.MaxRetries
	}
	r := &remoteCall{routes: s, call: call, rule: rule, tool: t, pool: p, idempotent: idempotent, repeated: outer > 0}
	r.on, _ = ctx.Value(placement{}).(string)
	if rule.Durable != "" {
		return r.queued(ctx)
	}
	return r.tried(ctx)
}

func notShared(name string) error {
	return tool.Errorf(tool.CodeNotFound, "%w: no host of the fleet shares %s any more", tool.ErrNotFound, name).
		Of(name, "").At(callstage.Execute).NeverSent()
}

// remoteCall is a call of a mounted tool.
type remoteCall struct {
	routes     *routes
	call       tool.Call
	rule       Rule
	tool       *mounted // nil: it is one of this host, which waits in the queue
	pool       *pool
	idempotent bool
	on         string // the host that it has to go to; empty: any
	repeated   bool   // the operator has the host's chain repeat the call, and not the fleet
	careful    bool   // lines that were made before the connection was lost are not used

	but     []*member   // hosts that it does not go to again
	only    []*member   // those that it has to go to; nil: any
	arrival uint64      // its number among those that wait; 0: it did not
	arrived time.Time   // when it got that
	refusal *tool.Error // by the last host that was full

	// home is the host that the session has got by this call. Guarded by the lock of routes.
	home *member
}

// tried runs the call: on the next host if one refuses it before it began, and once more if that is harmless.
func (r *remoteCall) tried(ctx context.Context) (res tool.Result, err error) {
	for first, again := true, false; ; first = false {
		a, none := r.place(ctx)
		if none != nil {
			if first || ctx.Err() != nil && r.arrival > 0 || isFull(tool.AsError(none)) {
				return tool.Result{}, none
			}
			return res, err // no other host can take it
		}
		res, err = r.once(ctx, a)
		if err == nil || ctx.Err() != nil || !r.repeatable(err) {
			return res, err
		}
		e := tool.AsError(err)
		lost := errors.Is(err, wire.ErrDisconnected) || errors.Is(err, errConnection)
		if lost || !e.Unsent {
			if again {
				return res, err
			}
			again = true
		}
		switch {
		case lost && (e.Unsent || errors.Is(err, errConnection)):
			r.careful = true // the line was lost, and not the host
		case isFull(e): // it waits for a place there, or at another
			r.refusal = e
		case e.Code == tool.CodeCrashed && !e.Unsent && r.alone(a.member): // the plugin runs again
		default:
			r.but = append(r.but, a.member)
		}
		if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil {
			show(tool.Delta{Reset: true})
		}
	}
}

// isFull reports whether a host has refused a call as others take its places, and not for what the call or its caller is.
func isFull(e *tool.Error) bool {
	return e.Code == tool.CodeResourceExhausted && e.Unsent && e.Stage == callstage.Limit
}

// alone reports whether there is no other host that could take the call.
func (r *remoteCall) alone(m *member) bool {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return r.only != nil || !slices.ContainsFunc(slices.Concat(r.pool.tiers[:]...), func(o *offer) bool {
		return o.member != m && r.accepts(o.member)
	})
}

// errLost is the cause of the error of a call whose host was lost during it.
var errLost = errors.New("the host was lost during the call")

// repeatable reports whether another attempt is harmless, and not the same again.
func (r *remoteCall) repeatable(err error) bool {
	var e *tool.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case tool.CodeUnavailable, tool.CodeCrashed:
		return !r.repeated && (e.Unsent || r.idempotent && (e.Code == tool.CodeCrashed || errors.Is(err, errLost)))
	case tool.CodeResourceExhausted, tool.CodeNotFound, tool.CodePermissionDenied, tool.CodeApprovalRequired, tool.CodeRateLimited:
		return e.Unsent
	default: // also what a person has denied
		return false
	}
}

// once runs the call on one host.
func (r *remoteCall) once(ctx context.Context, a *attempt) (tool.Result, error) {
	res, err := r.run(ctx, a)
	var o outcome
	switch {
	case err != nil:
		o = r.outcome(ctx, a, err)
	case res.IsError:
		o.failed = "an error of the tool"
	}
	a.end(o)
	return res, err
}

// outcome returns how an attempt has ended that has no result.
func (r *remoteCall) outcome(ctx context.Context, a *attempt, err error) outcome {
	e := tool.AsError(err)
	o := outcome{cut: ctx.Err() != nil, unsent: e.Unsent}
	switch e.Code {
	case tool.CodeUnavailable, tool.CodeCrashed, tool.CodeInternal, tool.CodeDeadlineExceeded, tool.CodeToolFailed:
		o.failed = string(e.Code)
	}
	if e.Unsent && !o.cut && !errors.Is(err, wire.ErrDisconnected) {
		o.full = a.replica.refuse(r.call.Caller, e)
	}
	return o
}

// run has the host of an attempt run the call.
func (r *remoteCall) run(ctx context.Context, at *attempt) (tool.Result, error) {
	m, l := at.member, at.line
	call := r.call
	call.Name, call.Session = at.Name, r.sessionAt(at.offer)
	begin := time.Now()
	within := ctx
	p := chain.PassedFrom(ctx)
	if p == ctx { // the stream watches the limit of the chain itself, and has it stand still
		within = p.Context
	}
	res, err := l.execute(within, call)
	host := m.host
	if err != nil {
		if errors.Is(err, wire.ErrDisconnected) {
			m.forget(l)
			if r.routes.lostSince(l.reconnects) {
				e := *tool.AsError(err)
				e.Err = fmt.Errorf("%w: %w", errConnection, err)
				err = &e
			}
		}
		return tool.Result{}, r.failed(ctx, host, err)
	}
	res, a := answerOf(res)
	if p != nil {
		there := a.phases(time.Since(begin))
		at.asked = there != nil && there.Asked > 0
		p.Trace.Elsewhere(host, there)
	}
	if a.Error != nil {
		e := ofHost(a.Error.clean(), host)
		e.Tool = r.call.Name
		if e.Unsent {
			r.leaveHome()
		}
		return tool.Result{}, e
	}
	if a.Reset {
		if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil {
			show(tool.Delta{Reset: true})
		}
	}
	return res, nil
}

// failed returns the error of a call that got no answer.
func (r *remoteCall) failed(ctx context.Context, host string, err error) error {
	e := *tool.AsError(err)
	e.Tool, e.Plugin = r.call.Name, Owner
	if errors.Is(err, wire.ErrDisconnected) && !e.Unsent && ctx.Err() == nil {
		e.Err = fmt.Errorf("%w: %w", errLost, err)
		e.Message = fmt.Sprintf("host %s was lost during the call of %s, and whether it has run is not known", host, r.call.Name)
		e.Hint = "find out what it did before calling it again"
		return &e
	}
	switch {
	case errors.Is(err, wire.ErrDisconnected):
		e.Message = fmt.Sprintf("host %s was lost before the call of %s was sent", host, r.call.Name)
	case ctx.Err() != nil:
		e.Message = fmt.Sprintf("gave up waiting for host %s to run %s: %v", host, r.call.Name, context.Cause(ctx))
	case errors.Is(err, wire.ErrProtocol):
		e.Message = fmt.Sprintf("host %s answered the call of %s with what is not an answer", host, r.call.Name)
		e.OperatorHint = "upgrade the host, or take it out of nats.peers"
	}
	return &e
}

func (r *remoteCall) gaveUp(ctx context.Context) error {
	why := ""
	if r.refusal != nil {
		why = ": " + r.refusal.Message
	}
	return tool.Errorf(tool.CodeOf(ctx.Err()),
		"gave up waiting for a host that can run %s: %v%s", r.call.Name, context.Cause(ctx), why).
		Of(r.call.Name, "").At(callstage.Execute).NeverSent().Because(ctx.Err())
}
