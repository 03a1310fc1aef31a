package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cancelGrace is how long the daemon may take to report the outcome of a canceled call.
const cancelGrace = 2 * time.Second

// maxAnswer bounds what a command reads of a call, in bytes: its arguments, if the command is
// asked about them, and an answer of 64 MiB as base64.
const maxAnswer = 256 << 20

// Call runs a call in the daemon. The approver is asked here; nil: no approver. The asker of ctx
// answers the questions of the tool, and deltas go where ctx says. The call ends when ctx does.
func (c *Client) Call(ctx context.Context, call Call, a policy.Approver) Answer {
	id := "" // of the durable call; empty: it is none, or is not in the queue yet
	told := call.Told
	call.Told = func(is string) {
		id = is
		if told != nil {
			told(is)
		}
	}
	answer, err := c.stream(ctx, call, a)
	switch {
	case err == nil:
		return answer
	case id != "" && ctx.Err() != nil:
		err = goesOn(id, ctx.Err(), context.Cause(ctx))
	case id != "":
		err = c.waitLost(id, err)
	case ctx.Err() != nil:
		err = tool.Errorf(tool.CodeOf(ctx.Err()), "the call of tool %s was canceled: %v", call.Name, context.Cause(ctx)).
			Of(call.Name, "").Because(ctx.Err())
	default:
		err = c.lost(call, err)
	}
	return Answer{Outcome: host.Outcome{Name: call.Name}}.Failed(err)
}

// lost returns the error for a call whose outcome is unknown because the daemon went away.
func (c *Client) lost(call Call, err error) error {
	var said *tool.Error
	if errors.As(err, &said) { // the daemon sent it
		return err
	}
	return tool.Errorf(tool.CodeUnavailable,
		"the daemon (pid %d) ended, or stopped answering, while it ran %s: %v", c.state.PID, call.Name, cause(err)).
		Of(call.Name, "").Because(err).Try("the outcome of the call is not known; see the daemon's log, and toolhost audit")
}

// stream sends the call and reads its events.
func (c *Client) stream(ctx context.Context, call Call, a policy.Approver) (Answer, error) {
	q := url.Values{"name": {call.Name}}
	if call.Session != "" {
		q.Set("session", call.Session)
	}
	if call.On != "" {
		q.Set("on", call.On)
	}
	for _, g := range call.Grants {
		q.Add("grant", string(g))
	}
	if call.IdempotencyKey != "" {
		q.Set("key", call.IdempotencyKey)
	}
	if call.Timeout > 0 {
		q.Set("timeout", call.Timeout.String())
	}
	for name, on := range map[string]bool{
		"yes": call.Yes, "ask": a != nil, "questions": callctx.Get[tool.Asker](ctx, callctx.Ask{}) != nil,
		"deltas": callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}) != nil, "detach": call.Detach,
	} {
		if on {
			q.Set(name, "true")
		}
	}
	r := &callReader{client: c, approver: a, asker: callctx.Get[tool.Asker](ctx, callctx.Ask{}), show: callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}), told: call.Told, begun: make(chan struct{})}
	// The connection outlives ctx for a moment: the daemon reports the outcome.
	wire, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	defer context.AfterFunc(ctx, func() { r.cancel(wire, hangUp) })()
	resp, err := c.send(wire, http.MethodPost, "/v1/call?"+q.Encode(), bytes.NewReader(call.Arguments))
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	return r.read(ctx, resp.Body)
}

// callReader reads the events of a call.
type callReader struct {
	client   *Client
	approver policy.Approver
	asker    tool.Asker       // nil: nothing answers questions
	show     func(tool.Delta) // nil: the text is wanted with the result
	told     func(id string)  // of a durable call; nil: it is not wanted

	address string        // of the call, once it has begun
	begun   chan struct{} // closed when the address is known
}

// cancel asks the daemon to end the call, and hangs up if that does not end it.
func (r *callReader) cancel(wire context.Context, hangUp context.CancelFunc) {
	defer hangUp()
	ctx, cancel := context.WithTimeout(wire, cancelGrace)
	defer cancel()
	select {
	case <-r.begun:
	case <-ctx.Done():
		return
	}
	if r.client.ask(ctx, http.MethodDelete, r.address, nil, nil) == nil {
		<-ctx.Done() // the reader ends it
	}
}

// read reads events until the end of the call.
func (r *callReader) read(ctx context.Context, body io.Reader) (Answer, error) {
	// A question ends with the call.
	ctx, over := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer over()
	return readAnswer(body, func(e event) {
		switch {
		case e.Event == eventBegin && r.address == "" && e.ID != "":
			r.address = "/v1/calls/" + e.ID
			close(r.begun)
		case e.Event == eventApproval && e.Approval != nil && r.approver != nil:
			asking.Go(func() { r.ask(ctx, *e.Approval) })
		case e.Event == eventDelta && e.Delta != nil && r.show != nil:
			r.show(*e.Delta)
		case e.Event == eventDurable && r.told != nil:
			r.told(e.ID)
		case e.Event == eventQuestion && e.Question != nil && r.asker != nil:
			asking.Go(func() { r.answer(ctx, *e.Question) })
		}
	})
}

// readAnswer reads lines until the end of the call. It hands events that are neither the end
// nor a part of the result to other.
func readAnswer(body io.Reader, other func(event)) (Answer, error) {
	var p parts
	for dec := json.NewDecoder(io.LimitReader(body, maxAnswer)); ; {
		var e event
		if err := dec.Decode(&e); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return Answer{}, err
		}
		switch {
		case e.Event == eventPart:
			p.add(e)
		case e.Event == eventEnd && e.End != nil:
			return e.End.answer(p), nil
		default:
			other(e)
		}
	}
}

// ask asks the approver and sends the decision. If it cannot be sent, the daemon is gone or the
// call has ended, which the reader notices.
func (r *callReader) ask(ctx context.Context, q question) {
	request := q.Request
	if q.Preview {
		request.Preview = func(ctx context.Context) (tool.Result, error) {
			resp, err := r.client.send(ctx, http.MethodGet, r.address+"/preview", nil)
			if err != nil {
				return tool.Result{}, r.client.explain(err)
			}
			defer func() { _ = resp.Body.Close() }()
			a, err := readAnswer(resp.Body, func(event) {})
			if err == nil {
				err = a.Err
			}
			return a.Result, r.client.explain(err)
		}
	}
	if q.Within > 0 { // the daemon reports itself when the time is over
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, time.Duration(q.Within))
		defer over()
	}
	d, err := r.approver.Approve(ctx, request)
	if err != nil { // counts as a no, as in a host
		d = policy.Decision{Verdict: policy.Deny, Reason: err.Error()}
	}
	_ = r.client.post(ctx, r.address+"/approval", d, nil)
}
