package control

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// submitted tells the client that its call is in the queue. If too many wait from then on, it is not waited
// for.
func (r *runningCall) submitted(id string) {
	_ = r.send(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Durable{Durable: id}}) // else the client is gone, which ends the call
	if err := r.server.park(r); err != nil {
		r.cancel(err)
	}
}

func (s *Server) park(r *runningCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own, others, ok := s.parked.Take(r.caller.Name, 1); !ok {
		return tool.Errorf(tool.CodeResourceExhausted,
			"%d commands wait for durable calls already, %d of them of this caller", own+others, own).
			Try("end one of them, or call with --detach")
	}
	r.parked = true
	return nil
}

// DurableCalls returns the durable calls that the caller may know about, those submitted last first.
//
// # Errors
//
// [tool.CodeUnsupported] if the daemon is in no fleet; those of [fleet.Fleet.ListCalls].
func (c *Client) DurableCalls(ctx context.Context) ([]durable.Call, error) {
	r, err := Do(ctx, c, daemonv1.DaemonHandler.ListDurableCalls, &daemonv1.ListDurableCallsRequest{})
	return Structs[durable.Call](r.GetCalls()), err
}

// DurableCall returns a durable call without its result.
//
// # Errors
//
// [tool.CodeNotFound]; those of [Client.DurableCalls].
func (c *Client) DurableCall(ctx context.Context, id string) (durable.Call, error) {
	r, err := Do(ctx, c, daemonv1.DaemonHandler.GetDurableCall, &daemonv1.GetDurableCallRequest{Id: id})
	return Struct[durable.Call](r.GetCall()), err
}

// WaitDurable returns how a durable call ends. If ctx ends first, the call goes on.
func (c *Client) WaitDurable(ctx context.Context, id string) Answer {
	r, err := ask(ctx, c, daemonv1.DaemonHandler.WaitDurableCall, &daemonv1.WaitDurableCallRequest{Id: id})
	if err == nil {
		return received(r.GetEnded())
	}
	if err = c.waitLost(id, err); ctx.Err() != nil {
		err = goesOn(id, ctx.Err(), context.Cause(ctx))
	}
	return Answer{Outcome: host.Outcome{ID: id}}.Failed(err)
}

// goesOn is the error of a durable call that is not waited for any longer.
func goesOn(id string, err, cause error) error {
	return tool.Errorf(tool.CodeOf(err), "the durable call %s is not waited for any longer, and goes on: %v", id, cause).
		Because(err).Try("toolhost jobs show " + id + " --wait waits again, toolhost jobs cancel " + id + " ends it")
}

// waitLost returns the error of who waits for a durable call: if the daemon went away, the call goes on.
func (c *Client) waitLost(id string, err error) error {
	if e := said(err); e != nil {
		return e
	}
	e := tool.AsError(c.explain(err))
	return goesOn(id, e, errors.New(e.Message))
}
