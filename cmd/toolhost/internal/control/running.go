package control

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// runningCall is a call in progress. It is the approver of its own call: it asks the client
// that reads the answer.
type runningCall struct {
	server *Server
	id     string
	caller Caller
	pid    int  // the process that made the call; 0: not known
	parked bool // it only waits for a durable call; guarded by the server's mu
	ctx    context.Context
	cancel context.CancelCauseFunc
	stream *connect.ServerStream[daemonv1.CallResponse] // nil: nothing is told of it

	sending   sync.Mutex
	questions questions
	pending   atomic.Pointer[pending] // nil: no call for approval is open
}

// pending is a question without an answer.
type pending struct {
	preview func(context.Context) (tool.Result, error) // nil if there is none
	answer  chan policy.Decision                       // has room for one
}

func newRunningCall(ctx context.Context, s *Server, out *connect.ServerStream[daemonv1.CallResponse]) *runningCall {
	req := requestOf(ctx)
	run := &runningCall{server: s, id: rand.Text(), caller: req.caller, pid: req.peer.pid, stream: out}
	run.ctx, run.cancel = context.WithCancelCause(ctx)
	return run
}

// send sends what happens in the call without delay.
func (r *runningCall) send(event *daemonv1.CallResponse) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	return r.stream.Send(event)
}

// Approve implements [policy.Approver].
func (r *runningCall) Approve(ctx context.Context, q policy.Request) (policy.Decision, error) {
	if err := r.server.beginWaiting(r); err != nil {
		return policy.Decision{}, err
	}
	defer r.server.endWaiting(r)
	p := &pending{q.Preview, make(chan policy.Decision, 1)}
	r.pending.Store(p)
	defer r.pending.Store(nil)
	sent := Message[daemonv1.ApprovalRequest](&q)
	sent.Call.Tool, sent.Preview, sent.WithinMs = valid(q.Call.Name), q.Preview != nil, within(ctx)
	if err := r.send(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Approval{Approval: sent}}); err != nil {
		return policy.Decision{}, err
	}
	select {
	case d := <-p.answer:
		return d, nil
	case <-ctx.Done():
		return policy.Decision{}, context.Cause(ctx)
	}
}

// show sends what the tool streams to the client.
func (r *runningCall) show(d tool.Delta) {
	r.tell(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Delta{
		Delta: &daemonv1.CallDelta{Text: valid(d.Text), Reset_: d.Reset},
	}})
}

// report sends how far the tool is to the client.
func (r *runningCall) report(p tool.Progress) {
	r.tell(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Progress{
		Progress: &pluginv1.Progress{Done: p.Done, Total: p.Total, Message: valid(p.Message)},
	}})
}

// tell sends what the tool says meanwhile. A client that does not read is gone: the call ends, as its
// answer could not be sent either.
func (r *runningCall) tell(event *daemonv1.CallResponse) {
	if err := r.send(event); err != nil {
		r.cancel(errUnread)
	}
}

// decide answers the open question.
func (r *runningCall) decide(d policy.Decision) error {
	p := r.pending.Load()
	if p == nil {
		return errNotAsked
	}
	select {
	case p.answer <- d:
		return nil
	default:
		return errNotAsked
	}
}

// preview returns what the call would do.
func (r *runningCall) preview(ctx context.Context) (tool.Result, error) {
	p := r.pending.Load()
	switch {
	case p == nil:
		return tool.Result{}, errNotAsked
	case p.preview == nil:
		return tool.Result{}, tool.NoPreview("")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)() // the preview ends with its call
	return p.preview(ctx)
}

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

var (
	errNotAsked = tool.Errorf(tool.CodeUnavailable, "the call does not wait for an approval")
	errCanceled = errors.New("the caller canceled the call")
	errEnding   = errors.New("the daemon is ending")
	errUnread   = errors.New("the caller does not read what the tool streams")
)
