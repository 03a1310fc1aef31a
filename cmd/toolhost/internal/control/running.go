package control

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// running is a call under way. It is the approver of its own call: it asks whoever
// reads the answer.
type running struct {
	server *Server
	id     string
	caller int // the process that made it; 0: it is not known
	ctx    context.Context
	cancel context.CancelCauseFunc
	lines  *lines

	mu      sync.Mutex
	pending *pending // nil: nobody is asked
}

// pending is a question that has no answer yet.
type pending struct {
	preview func(context.Context) (tool.Result, error) // nil: there is none
	answer  chan policy.Decision                       // has room for the only one
}

func newRunning(ctx context.Context, s *Server, caller peer, out *lines) *running {
	r := &running{server: s, id: rand.Text(), caller: caller.pid, lines: out}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// Approve implements [policy.Approver].
func (r *running) Approve(ctx context.Context, q policy.Request) (policy.Decision, error) {
	if err := r.server.beginWaiting(r); err != nil {
		return policy.Decision{}, err
	}
	defer r.server.endWaiting(r)
	p := &pending{q.Preview, make(chan policy.Decision, 1)}
	r.ask(p)
	defer r.ask(nil)
	if err := r.lines.sendNow(event{Event: eventApproval, Approval: approvalOf(ctx, q)}); err != nil {
		return policy.Decision{}, err
	}
	select {
	case d := <-p.answer:
		return d, nil
	case <-ctx.Done():
		return policy.Decision{}, context.Cause(ctx)
	}
}

func (r *running) ask(p *pending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = p
}

// question is the one that has no answer yet; nil: there is none.
func (r *running) question() *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending
}

// decide answers the question.
func (r *running) decide(d policy.Decision) error {
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

// preview is what the call would do.
func (r *running) preview(ctx context.Context) (tool.Result, error) {
	p := r.question()
	switch {
	case p == nil:
		return tool.Result{}, errNotAsked
	case p.preview == nil:
		return tool.Result{}, tool.NoPreview("")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)() // with the call, its preview ends
	return p.preview(ctx)
}

var (
	errNotAsked = tool.Errorf(tool.CodeUnavailable, "the call does not wait for an approval")
	errGaveUp   = errors.New("the caller gave up")
	errEnding   = errors.New("the daemon is ending")
)
