package fleet

import (
	"context"
	"errors"
	"fmt"
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
	t := s.mounts.tool(call.Name)
	if t == nil {
		return tool.Result{}, notShared(call.Name)
	}
	idempotent, outer := t.versions[0].def.Get().Idempotent, 0
	if p := chain.PassedFrom(ctx); p != nil && p.Trace.Definition != nil { // as the operator has it
		idempotent, outer = p.Trace.Definition.Idempotent, p.Trace.Definition.MaxRetries
	}
	r := &remoteCall{routes: s, call: call, rule: rule, tool: t, idempotent: idempotent, repeated: outer > 0}
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
	idempotent bool
	on         string // the host that it has to go to; empty: any
	repeated   bool   // the operator has the host's chain repeat the call, and not the fleet
	careful    bool   // lines that were made before the connection was lost are not used

	// home is the host that the session has got by this call. Guarded by the lock of routes.
	home *member
}

// tried runs the call, and once more on another host if that is harmless.
func (r *remoteCall) tried(ctx context.Context) (tool.Result, error) {
	res, first, err := r.once(ctx, nil)
	if err == nil || first == nil || ctx.Err() != nil || !r.repeatable(err) {
		return res, err
	}
	if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil {
		show(tool.Delta{Reset: true})
	}
	but := first.member
	if tool.AsError(err).Unsent && errors.Is(err, wire.ErrDisconnected) || errors.Is(err, errConnection) {
		but, r.careful = nil, true // the line was lost, and not the host
	}
	again, second, err2 := r.once(ctx, but)
	if second == nil { // no other host can take it
		return res, err
	}
	return again, err2
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
	case tool.CodeUnavailable, tool.CodeCrashed, tool.CodeResourceExhausted, tool.CodeNotFound:
		if r.repeated && e.Code != tool.CodeResourceExhausted && e.Code != tool.CodeNotFound {
			return false
		}
		return e.Unsent || r.idempotent && errors.Is(err, errLost)
	default:
		return false
	}
}

// once runs the call on one host, but not on a certain one. It returns on which; nil: on none.
func (r *remoteCall) once(ctx context.Context, but *member) (tool.Result, *offer, error) {
	o, l, err := r.place(ctx, but)
	if err != nil {
		return tool.Result{}, nil, err
	}
	m := o.member
	defer m.release(1)
	call := r.call
	call.Name, call.Session = o.Name, r.sessionAt(o)
	begin := time.Now()
	res, err := l.execute(ctx, call)
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
		return tool.Result{}, o, r.failed(ctx, host, err)
	}
	res, a := answerOf(res)
	if p := chain.PassedFrom(ctx); p != nil {
		p.Trace.Elsewhere(host, a.phases(time.Since(begin)))
	}
	if a.Error != nil {
		e := ofHost(a.Error.clean(), host)
		e.Tool = r.call.Name
		if e.Unsent {
			r.leaveHome()
		}
		return tool.Result{}, o, e
	}
	m.measure(time.Since(begin))
	if a.Reset {
		if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil {
			show(tool.Delta{Reset: true})
		}
	}
	return res, o, nil
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
	return tool.Errorf(tool.CodeOf(ctx.Err()),
		"gave up waiting for a host that can run %s: %v", r.call.Name, context.Cause(ctx)).
		Of(r.call.Name, "").At(callstage.Execute).NeverSent().Because(ctx.Err())
}
