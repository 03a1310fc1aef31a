package control

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
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
	lines  *lines

	questions questions

	mu      sync.Mutex
	pending *pending // nil: no question is open
}

// pending is a question without an answer.
type pending struct {
	preview func(context.Context) (tool.Result, error) // nil if there is none
	answer  chan policy.Decision                       // has room for one
}

func newRunningCall(s *Server, r *http.Request, out *lines) *runningCall {
	run := &runningCall{server: s, id: rand.Text(), caller: callerOf(r), pid: peerOfRequest(r).pid, lines: out}
	run.ctx, run.cancel = context.WithCancelCause(r.Context())
	return run
}

// Approve implements [policy.Approver].
func (r *runningCall) Approve(ctx context.Context, q policy.Request) (policy.Decision, error) {
	if err := r.server.beginWaiting(r); err != nil {
		return policy.Decision{}, err
	}
	defer r.server.endWaiting(r)
	p := &pending{q.Preview, make(chan policy.Decision, 1)}
	r.setQuestion(p)
	defer r.setQuestion(nil)
	if err := r.lines.sendNow(event{Event: eventApproval, Approval: questionOf(ctx, q)}); err != nil {
		return policy.Decision{}, err
	}
	select {
	case d := <-p.answer:
		return d, nil
	case <-ctx.Done():
		return policy.Decision{}, context.Cause(ctx)
	}
}

// show sends what the tool streams to the client. A client that does not read is gone: the call
// ends, as its answer could not be sent either.
func (r *runningCall) show(d tool.Delta) {
	if err := r.lines.sendNow(event{Event: eventDelta, Delta: &d}); err != nil {
		r.cancel(errUnread)
	}
}

func (r *runningCall) setQuestion(p *pending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = p
}

// question returns the open question; nil if there is none.
func (r *runningCall) question() *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending
}

// decide answers the open question.
func (r *runningCall) decide(d policy.Decision) error {
	p := r.question()
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
	p := r.question()
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

var (
	errNotAsked = tool.Errorf(tool.CodeUnavailable, "the call does not wait for an approval")
	errCanceled = errors.New("the caller canceled the call")
	errEnding   = errors.New("the daemon is ending")
	errUnread   = errors.New("the caller does not read what the tool streams")
)
