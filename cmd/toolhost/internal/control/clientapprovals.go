package control

import (
	"context"
	"io"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Approvals returns the questions that wait, the oldest first.
func (c *Client) Approvals(ctx context.Context) ([]approval.Question, error) {
	r, err := Do(ctx, c, daemonv1.DaemonHandler.ListApprovals, &daemonv1.ListApprovalsRequest{})
	return Structs[approval.Question](r.GetApprovals()), err
}

// Answer answers a question, and returns it.
//
// # Errors
//
// Those of [approval.Queue.Decide].
func (c *Client) Answer(ctx context.Context, id string, d policy.Decision) (approval.Question, error) {
	verdict, _ := d.Verdict.MarshalText() // which cannot fail
	r, err := Do(ctx, c, daemonv1.DaemonHandler.DecideApproval,
		&daemonv1.DecideApprovalRequest{Id: id, Verdict: string(verdict), Reason: valid(d.Reason)})
	return Struct[approval.Question](r.GetApproval()), err
}

// FollowApprovals calls each with the questions that wait, and then with each that comes or is
// closed, until ctx or the daemon ends or each returns an error, which it returns.
func (c *Client) FollowApprovals(ctx context.Context, each func(approval.Question) error) error {
	in, err := stream(ctx, c, daemonv1.DaemonHandler.FollowApprovals, &daemonv1.FollowApprovalsRequest{})
	err = eachOf(ctx, c, in, err, func(r *daemonv1.FollowApprovalsResponse) error {
		return each(Struct[approval.Question](r.GetApproval()))
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	return c.explain(io.EOF)
}

// Queue returns an approver that puts questions into the daemon's queue.
func (c *Client) Queue() policy.Approver { return policy.ApproverFunc(c.enqueue) }

func (c *Client) enqueue(ctx context.Context, r policy.Request) (policy.Decision, error) {
	q, fails := approval.Describe(ctx, r)
	if fails {
		return policy.Decision{Verdict: policy.Fail}, nil
	}
	a, err := ask(ctx, c, daemonv1.DaemonHandler.Ask, &daemonv1.AskRequest{Approval: Message[daemonv1.Approval](&q)})
	d := policy.Decision{Reason: a.GetReason(), By: a.GetBy()}
	refused := said(err)
	switch {
	case ctx.Err() != nil:
		return policy.Decision{}, context.Cause(ctx)
	case refused != nil:
		return policy.Decision{}, refused
	case err != nil: // it was killed, which decides on the question
		return policy.Decision{Verdict: policy.Deny, By: approval.ByEnd, Reason: approval.EndReason}, nil //nolint:nilerr // see there
	case a.GetUnasked() != "":
		return policy.Decision{}, tool.Errorf(tool.CodeApprovalRequired, "%s", a.GetUnasked()).Because(policy.ErrCannotAsk)
	}
	return d, d.Verdict.UnmarshalText([]byte(a.GetVerdict()))
}
