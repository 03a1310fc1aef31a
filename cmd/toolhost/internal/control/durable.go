package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Durable are the durable calls of a daemon's fleet. A caller knows about its own, and the operator about
// all; to others a call does not exist.
type Durable interface {
	List(context.Context, Caller) ([]durable.Call, error)
	// Get returns a call without its result.
	Get(ctx context.Context, c Caller, id string) (durable.Call, error)
	// Wait returns how a call ends; ctx ends the wait, and not the call.
	Wait(ctx context.Context, c Caller, id string) Answer
	Cancel(ctx context.Context, c Caller, id string) error
}

// submitted tells the client that its call is in the queue. If too many wait from then on, it is not waited
// for.
func (r *runningCall) submitted(id string) {
	_ = r.lines.sendNow(event{Event: eventDurable, ID: id}) // else the client is gone, which ends the call
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

// durably returns a handler for a request about durable calls.
func (s *Server) durably(f func(http.ResponseWriter, *http.Request, Durable) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, err := s.beginWork(r)
		if err != nil {
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		defer end()
		d, err := s.service.Durable()
		if err == nil {
			err = f(w, r, d)
		}
		switch {
		case tool.CodeOf(err) == tool.CodeNotFound:
			fail(w, http.StatusNotFound, err)
		case err != nil:
			fail(w, http.StatusConflict, err)
		}
	}
}

func (s *Server) durableCalls(w http.ResponseWriter, r *http.Request, d Durable) error {
	all, err := d.List(r.Context(), callerOf(r))
	if err == nil {
		s.replyLarge(w, r, append([]durable.Call{}, all...))
	}
	return err
}

func (s *Server) durableCall(w http.ResponseWriter, r *http.Request, d Durable) error {
	c, err := d.Get(r.Context(), callerOf(r), r.PathValue("id"))
	if err == nil {
		s.replyLarge(w, r, c)
	}
	return err
}

func (s *Server) cancelDurable(w http.ResponseWriter, r *http.Request, d Durable) error {
	err := d.Cancel(r.Context(), callerOf(r), r.PathValue("id"))
	if err == nil {
		reply(w, struct{}{})
	}
	return err
}

// waitDurable answers as a call does when the durable call has ended.
func (s *Server) waitDurable(w http.ResponseWriter, r *http.Request) {
	d, err := s.service.Durable()
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	out := newLines(w)
	run := newRunningCall(s, r, out)
	err = s.addCall(run)
	if err == nil {
		defer s.removeCall(run)
		err = s.park(run)
	}
	if err != nil {
		run.cancel(nil)
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	if out.sendNow(event{Event: eventBegin, ID: run.id}) == nil {
		_ = s.sendAnswer(out, run.caller, d.Wait(run.ctx, callerOf(r), r.PathValue("id"))) // it can be asked for again
	}
}

const durablePath = "/v1/durable"

// DurableCalls returns the durable calls that the caller may know about, those submitted last first.
//
// # Errors
//
// [tool.CodeUnsupported] if the daemon is in no fleet; those of [fleet.Fleet.ListCalls].
func (c *Client) DurableCalls(ctx context.Context) ([]durable.Call, error) {
	var out []durable.Call
	err := c.get(ctx, durablePath, &out)
	return out, c.explain(err)
}

// DurableCall returns a durable call without its result.
//
// # Errors
//
// [tool.CodeNotFound]; those of [Client.DurableCalls].
func (c *Client) DurableCall(ctx context.Context, id string) (out durable.Call, err error) {
	err = c.get(ctx, durablePath+"/"+url.PathEscape(id), &out)
	return out, c.explain(err)
}

// WaitDurable returns how a durable call ends. If ctx ends first, the call goes on.
func (c *Client) WaitDurable(ctx context.Context, id string) Answer {
	resp, err := c.send(ctx, http.MethodGet, durablePath+"/"+url.PathEscape(id)+"/wait", nil)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		var answer Answer
		if answer, err = readAnswer(resp.Body, func(event) {}); err == nil {
			return answer
		}
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
	var said *tool.Error
	if errors.As(err, &said) { // the daemon sent it
		return err
	}
	e := tool.AsError(c.explain(err))
	return goesOn(id, e, errors.New(e.Message))
}

// CancelDurable ends a durable call. One that has ended stays as it is.
//
// # Errors
//
// Those of [Client.DurableCall].
func (c *Client) CancelDurable(ctx context.Context, id string) error {
	return c.explain(c.ask(ctx, http.MethodPost, durablePath+"/"+url.PathEscape(id)+"/cancel", nil, nil))
}
