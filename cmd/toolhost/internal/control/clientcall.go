package control

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// cancelGrace is how long the daemon may take to report the outcome of a canceled call.
const cancelGrace = 2 * time.Second

// Call runs a call. The approver is asked here; nil: no approver. The asker of ctx
// answers the questions of the tool, and deltas and progress go where ctx says. The call ends when ctx does.
func (c *Client) Call(ctx context.Context, call Call, a policy.Approver) Answer {
	if c.own != nil {
		return c.own.Run(ctx, Caller{}, call, a)
	}
	id := "" // of the durable call; empty: it is none, or is not in the queue yet
	told := call.Told
	call.Told = func(is string) {
		id = is
		if told != nil {
			told(is)
		}
	}
	answer, err := c.run(ctx, call, a)
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
	if e := said(err); e != nil {
		return e
	}
	return tool.Errorf(tool.CodeUnavailable,
		"the daemon (pid %d) ended, or stopped answering, while it ran %s: %v", c.state.PID, call.Name, cause(err)).
		Of(call.Name, "").Because(err).Try("the outcome of the call is not known; see the daemon's log, and toolhost audit")
}

// run sends the call and reads what happens in it.
func (c *Client) run(ctx context.Context, call Call, a policy.Approver) (Answer, error) {
	asker, show := callctx.Get[tool.Asker](ctx, callctx.Ask{}), callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{})
	report := callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
	request := &daemonv1.CallRequest{
		Name: valid(call.Name), Arguments: valid(string(call.Arguments)), Session: call.Session, On: call.On, Yes: call.Yes,
		IdempotencyKey: valid(call.IdempotencyKey), Detach: call.Detach,
		Approves: a != nil, Answers: asker != nil, Deltas: show != nil, Progress: report != nil,
	}
	for _, g := range call.Grants {
		request.Grants = append(request.Grants, string(g))
	}
	if call.Timeout > 0 {
		request.TimeoutMs = max(call.Timeout.Milliseconds(), 1)
	}
	r := &callReader{
		client: c, approver: a, asker: asker, show: show, report: report, told: call.Told, begun: make(chan struct{}),
	}
	// The connection outlives ctx for a moment: the daemon reports the outcome.
	wire, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	defer context.AfterFunc(ctx, func() { r.cancel(wire, hangUp) })()
	if t := tool.TraceFrom(ctx); t.Parent != "" {
		var info connect.CallInfo
		wire, info = connect.NewClientContext(wire)
		info.RequestHeader().Set("Traceparent", t.Parent)
		info.RequestHeader().Set("Tracestate", t.State)
	}
	in, err := stream(wire, c, daemonv1.DaemonHandler.Call, request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = in.Close() }()
	// A question ends with the call.
	ctx, over := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer over()
	for in.Receive() {
		if end := in.Msg().GetEnded(); end != nil {
			return received(end), nil
		}
		r.read(ctx, in.Msg(), &asking)
	}
	if err := in.Err(); err != nil {
		return Answer{}, err
	}
	return Answer{}, io.ErrUnexpectedEOF
}

// callReader reads what happens in a call.
type callReader struct {
	client   *Client
	approver policy.Approver
	asker    tool.Asker          // nil: nothing answers questions
	show     func(tool.Delta)    // nil: the text is wanted with the result
	report   func(tool.Progress) // nil: it is not wanted
	told     func(id string)     // of a durable call; nil: it is not wanted

	id    string        // of the call, once it has begun
	begun chan struct{} // closed when the ID is known
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
	if _, err := ask(ctx, r.client, daemonv1.DaemonHandler.CancelCall, &daemonv1.CancelCallRequest{Id: r.id}); err == nil {
		<-ctx.Done() // the reader ends it
	}
}

// read does what an event asks for. It ignores one of a kind that is not known.
func (r *callReader) read(ctx context.Context, event *daemonv1.CallResponse, asking *sync.WaitGroup) {
	switch e := event.GetEvent().(type) {
	case *daemonv1.CallResponse_Begun:
		if r.id == "" && e.Begun != "" {
			r.id = e.Begun
			close(r.begun)
		}
	case *daemonv1.CallResponse_Approval:
		if r.approver != nil {
			asking.Go(func() { r.approve(ctx, e.Approval) })
		}
	case *daemonv1.CallResponse_Delta:
		if r.show != nil {
			r.show(tool.Delta{Text: e.Delta.GetText(), Reset: e.Delta.GetReset_()})
		}
	case *daemonv1.CallResponse_Progress:
		if r.report != nil {
			p := e.Progress
			r.report(tool.Progress{Done: p.GetDone(), Total: p.GetTotal(), Message: p.GetMessage()})
		}
	case *daemonv1.CallResponse_Durable:
		r.told(e.Durable)
	case *daemonv1.CallResponse_Question:
		if r.asker != nil {
			asking.Go(func() { r.answer(ctx, e.Question) })
		}
	}
}

// limited returns ctx for a question, which ends with it: the daemon reports itself when the time is over.
func limited(ctx context.Context, ms int64) (context.Context, context.CancelFunc) {
	if ms <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
}

// approve asks the approver and sends the decision. If it cannot be sent, the daemon is gone or the
// call has ended, which the reader notices.
func (r *callReader) approve(ctx context.Context, q *daemonv1.ApprovalRequest) {
	request := Struct[policy.Request](q)
	request.Call.Name = q.GetCall().GetTool()
	if q.GetPreview() {
		request.Preview = func(ctx context.Context) (tool.Result, error) {
			p, err := Do(ctx, r.client, daemonv1.DaemonHandler.PreviewCall, &daemonv1.PreviewCallRequest{Id: r.id})
			return receivedResult(p.GetResult()), err
		}
	}
	ctx, over := limited(ctx, q.GetWithinMs())
	defer over()
	d, err := r.approver.Approve(ctx, request)
	if err != nil { // counts as a no, as in a host
		d = policy.Decision{Verdict: policy.Deny, Reason: err.Error()}
	}
	verdict, _ := d.Verdict.MarshalText() // which cannot fail
	sent := &daemonv1.Decision{Verdict: string(verdict), Reason: valid(d.Reason), Arguments: valid(string(d.Arguments))}
	_, _ = ask(ctx, r.client, daemonv1.DaemonHandler.DecideCall, &daemonv1.DecideCallRequest{Id: r.id, Decision: sent})
}

// answer asks the asker and sends the answer. If it cannot be sent, the daemon is gone or the
// call has ended, which the reader notices.
func (r *callReader) answer(ctx context.Context, q *daemonv1.ToolQuestion) {
	ctx, over := limited(ctx, q.GetWithinMs())
	defer over()
	a, err := r.asker(ctx, Struct[tool.Question](q))
	sent := &pluginv1.Answer{Number: q.GetQuestion().GetNumber(), Action: string(a.Action), ContentJson: a.Content}
	if err != nil {
		sent.Error = Message[pluginv1.Error](sentError(err))
	}
	_, _ = ask(ctx, r.client, daemonv1.DaemonHandler.AnswerCall, &daemonv1.AnswerCallRequest{Id: r.id, Answer: sent})
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
