package control

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Call tells what happens in a call until it has ended. After the first event, errors are in the last.
func (h handler) Call(ctx context.Context, r *daemonv1.CallRequest, out *connect.ServerStream[daemonv1.CallResponse]) error {
	c, err := parseCall(r)
	if err != nil {
		return refusal(err)
	}
	run := newRunningCall(ctx, h.Server, out)
	if err := h.addCall(run); err != nil {
		run.cancel(nil)
		return refusal(err)
	}
	defer h.removeCall(run)
	if err := run.send(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Begun{Begun: run.id}}); err != nil {
		return err // the client is gone
	}
	var asked policy.Approver
	if r.GetApproves() {
		asked = run
	}
	ctx = run.ctx
	if r.GetAnswers() {
		ctx = tool.WithAsker(ctx, run.Ask)
	}
	if r.GetDeltas() {
		ctx = tool.WithDeltas(ctx, run.show)
	}
	if r.GetProgress() {
		ctx = tool.WithProgress(ctx, run.report)
	}
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		h := info.RequestHeader()
		ctx = context.WithValue(ctx, callctx.Trace{}, &tool.Trace{Parent: h.Get("Traceparent"), State: h.Get("Tracestate")})
	}
	c.Told = run.submitted
	a := h.Run(ctx, run.caller, c, asked)
	n := wire.ResultSize(a.Result)
	if err := requestOf(ctx).hold(ctx, h.Server, n, "an answer"); err != nil {
		a = a.Failed(tool.Errorf(tool.CodeResourceExhausted,
			"tool %s ran, and its answer of %d bytes is lost: %w", a.Outcome.Name, n, err).
			Of(a.Outcome.Name, "").At(callstage.Output).
			Try("make fewer calls with large answers at a time, or ask for less at once"))
	}
	return run.send(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Ended{Ended: a.sent()}}) // what is not read is on record
}

func (h handler) CancelCall(ctx context.Context, r *daemonv1.CancelCallRequest) (*daemonv1.CancelCallResponse, error) {
	run, err := h.runningCall(ctx, r.GetId())
	if err == nil {
		run.cancel(errCanceled)
	}
	return &daemonv1.CancelCallResponse{}, err
}

func (h handler) PreviewCall(ctx context.Context, r *daemonv1.PreviewCallRequest) (*daemonv1.PreviewCallResponse, error) {
	run, err := h.runningCall(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	res, err := run.preview(ctx)
	return &daemonv1.PreviewCallResponse{Result: sentResult(res)}, err
}

func (h handler) DecideCall(ctx context.Context, r *daemonv1.DecideCallRequest) (*daemonv1.DecideCallResponse, error) {
	run, err := h.runningCall(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	d, err := decision(ctx, r.GetDecision())
	if err == nil {
		err = run.decide(d)
	}
	return &daemonv1.DecideCallResponse{}, err
}

func (h handler) AnswerCall(ctx context.Context, r *daemonv1.AnswerCallRequest) (*daemonv1.AnswerCallResponse, error) {
	run, err := h.runningCall(ctx, r.GetId())
	if err == nil {
		err = run.answerQuestion(r.GetAnswer())
	}
	return &daemonv1.AnswerCallResponse{}, err
}

// maxReason bounds what a client says in words, in bytes.
const maxReason = 400

// decision reads a decision about a call. On record is the process that decided: whether it
// asked a person is not known.
func decision(ctx context.Context, m *daemonv1.Decision) (d policy.Decision, err error) {
	if err := d.Verdict.UnmarshalText([]byte(m.GetVerdict())); err != nil {
		return d, tool.Errorf(tool.CodeInvalidArguments, "the decision cannot be read: %w", err)
	}
	d.By, d.Reason = requestOf(ctx).by(), fmt.Sprintf("%.*s", maxReason, m.GetReason())
	d.Arguments = orNil(m.GetArguments())
	return d, nil
}

func (h handler) ListApprovals(context.Context, *daemonv1.ListApprovalsRequest) (*daemonv1.ListApprovalsResponse, error) {
	open, _ := h.Approvals().Open()
	return &daemonv1.ListApprovalsResponse{Approvals: Messages[daemonv1.Approval](open)}, nil
}

// FollowApprovals sends the questions that wait, and then each that comes or is closed.
func (h handler) FollowApprovals(
	ctx context.Context, _ *daemonv1.FollowApprovalsRequest, out *connect.ServerStream[daemonv1.FollowApprovalsResponse],
) error {
	end, err := h.beginReading()
	if err != nil {
		return refusal(err)
	}
	defer end()
	if err := out.Send(nil); err != nil { // so that the client knows that it follows
		return err
	}
	queue := h.Approvals()
	for known := map[string]bool{}; ; {
		open, changed := queue.Open()
		var news []approval.Question
		now := map[string]bool{}
		for _, q := range open {
			if now[q.ID] = true; !known[q.ID] {
				if full, err := queue.Get(q.ID); err == nil {
					news = append(news, full)
				}
			}
		}
		for id := range known {
			if closed, err := queue.Get(id); !now[id] && err == nil {
				news = append(news, closed)
			}
		}
		known = now
		for _, q := range Messages[daemonv1.Approval](news) {
			if err := out.Send(&daemonv1.FollowApprovalsResponse{Approval: q}); err != nil {
				return err // the client is gone
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-h.ending:
			return nil
		}
	}
}

func (h handler) GetApproval(_ context.Context, r *daemonv1.GetApprovalRequest) (*daemonv1.GetApprovalResponse, error) {
	q, err := h.Approvals().Get(r.GetId())
	return &daemonv1.GetApprovalResponse{Approval: Message[daemonv1.Approval](&q)}, err
}

func (h handler) DecideApproval(ctx context.Context, r *daemonv1.DecideApprovalRequest) (*daemonv1.DecideApprovalResponse, error) {
	d, err := decision(ctx, &daemonv1.Decision{Verdict: r.GetVerdict(), Reason: r.GetReason()})
	if err != nil {
		return nil, err
	}
	action := map[policy.Verdict]string{policy.Allow: "approvals approve", policy.Deny: "approvals deny"}[d.Verdict]
	if action == "" {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "the verdict on a question is neither allow nor deny")
	}
	q, err := h.Approvals().Decide(r.GetId(), d)
	of := audit.Record{
		Action: action, Object: r.GetId(), Tool: q.Tool, Session: q.Session, Approver: d.By, Message: d.Reason,
	}
	return &daemonv1.DecideApprovalResponse{Approval: Message[daemonv1.Approval](&q)}, Record(ctx, h, of, err)
}

// Ask puts a question of a process of the operator into the queue, and answers when it is decided.
func (h handler) Ask(ctx context.Context, r *daemonv1.AskRequest) (*daemonv1.AskResponse, error) {
	d, err := h.Approvals().Ask(ctx, Struct[approval.Question](r.GetApproval()))
	if errors.Is(err, policy.ErrCannotAsk) {
		return &daemonv1.AskResponse{Unasked: err.Error()}, nil
	}
	verdict, _ := d.Verdict.MarshalText() // which cannot fail
	return &daemonv1.AskResponse{Verdict: string(verdict), Reason: valid(d.Reason), By: valid(d.By)}, err
}
