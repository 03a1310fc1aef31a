package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cancelGrace is how long the daemon may take to tell what came of a call that was
// given up.
const cancelGrace = 2 * time.Second

// maxAnswer bounds what a command reads of a call, in bytes: its arguments, where it is
// asked about them, and an answer of 64 MiB as base64.
const maxAnswer = 256 << 20

// Call runs a call in the daemon. The approver is asked here; nil: nobody is there to
// be asked. Where ctx ends, so does the call.
func (c *Client) Call(ctx context.Context, call Call, a policy.Approver) Answer {
	answer, err := c.follow(ctx, call, a)
	switch {
	case err == nil:
		return answer
	case ctx.Err() != nil:
		err = &tool.Error{
			Code: tool.CodeOf(ctx.Err()), Tool: call.Name, Err: ctx.Err(),
			Message: fmt.Sprintf("the call of tool %s was given up: %v", call.Name, context.Cause(ctx)),
		}
	default:
		err = c.lost(call, err)
	}
	return Answer{Outcome: host.Outcome{Name: call.Name}}.Failed(err)
}

// lost is the error of a call whose end nobody told.
func (c *Client) lost(call Call, err error) error {
	var said *tool.Error
	if errors.As(err, &said) { // the daemon's own word
		return err
	}
	return &tool.Error{
		Code: tool.CodeUnavailable, Tool: call.Name, Err: err,
		Message: fmt.Sprintf("the daemon (pid %d) ended, or stopped answering, while it ran %s: %v", c.state.PID, call.Name, cause(err)),
		Hint:    "what the call has done is not known; see the daemon's log, and toolhost audit",
	}
}

// follow sends the call and reads what is told of it.
func (c *Client) follow(ctx context.Context, call Call, a policy.Approver) (Answer, error) {
	q := url.Values{"name": {call.Name}}
	for _, g := range call.Grants {
		q.Add("grant", string(g))
	}
	if call.Timeout > 0 {
		q.Set("timeout", call.Timeout.String())
	}
	for name, on := range map[string]bool{"yes": call.Yes, "ask": a != nil} {
		if on {
			q.Set(name, "true")
		}
	}
	f := &following{client: c, approver: a, begun: make(chan struct{})}
	// The connection outlives ctx for a moment: the daemon tells what came of it.
	wire, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	defer context.AfterFunc(ctx, func() { f.giveUp(wire, hangUp) })()
	resp, err := c.send(wire, http.MethodPost, "/v1/call?"+q.Encode(), bytes.NewReader(call.Arguments))
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	return f.read(ctx, resp.Body)
}

// following is the reader of a call's events.
type following struct {
	client   *Client
	approver policy.Approver

	address string        // of the call
	begun   chan struct{} // closed when the address is known
}

// giveUp asks the daemon to end the call, and hangs up if nothing comes of that.
func (f *following) giveUp(wire context.Context, hangUp context.CancelFunc) {
	defer hangUp()
	ctx, cancel := context.WithTimeout(wire, cancelGrace)
	defer cancel()
	select {
	case <-f.begun:
	case <-ctx.Done():
		return
	}
	if f.client.ask(ctx, http.MethodDelete, f.address, nil, nil) == nil {
		<-ctx.Done() // which the end of the reader brings about
	}
}

// read reads events until the end of the call.
func (f *following) read(ctx context.Context, body io.Reader) (Answer, error) {
	// A question ends with the call.
	ctx, over := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer over()
	return readAnswer(body, func(e event) {
		switch {
		case e.Event == eventBegin && f.address == "" && e.ID != "":
			f.address = "/v1/calls/" + e.ID
			close(f.begun)
		case e.Event == eventApproval && e.Approval != nil && f.approver != nil:
			asking.Go(func() { f.ask(ctx, *e.Approval) })
		}
	})
}

// readAnswer reads lines until the end of the call. What is neither that nor part of the
// result is the other function's.
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

// ask has the approver decide. Where the daemon cannot be told, it is gone, or the
// call is, and the reader gets to know.
func (f *following) ask(ctx context.Context, what approval) {
	r := what.request()
	if what.Preview {
		r.Preview = func(ctx context.Context) (tool.Result, error) {
			resp, err := f.client.send(ctx, http.MethodGet, f.address+"/preview", nil)
			if err != nil {
				return tool.Result{}, f.client.explain(err)
			}
			defer func() { _ = resp.Body.Close() }()
			a, err := readAnswer(resp.Body, func(event) {})
			if err == nil {
				err = a.Err
			}
			return a.Result, f.client.explain(err)
		}
	}
	if what.Within > 0 { // the daemon says so itself when it is over
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, time.Duration(what.Within))
		defer over()
	}
	text, err := json.Marshal(decisionOf(f.approver.Approve(ctx, r)))
	if err == nil && ctx.Err() == nil {
		_ = f.client.ask(ctx, http.MethodPost, f.address+"/approval", bytes.NewReader(text), nil)
	}
}
