package control

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// answered is a decision as it is sent to the process whose call it is about.
type answered struct {
	policy.Decision
	By string `json:"by,omitempty"`
	// Unasked says why the question cannot be put; empty: it was.
	Unasked string `json:"unasked,omitempty"`
}

// approvals lists the questions that wait; if the client follows them, it goes on with a line for
// each that comes or is closed.
func (s *Server) approvals(w http.ResponseWriter, r *http.Request) {
	queue := s.service.Approvals()
	open, changed := queue.Open()
	if r.URL.Query().Get("follow") != "true" {
		s.replyLarge(w, r, open)
		return
	}
	end, err := s.beginReading()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	defer end()
	out := newLines(w)
	for known := map[string]bool{}; ; open, changed = queue.Open() {
		var news []any
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
		if known = now; sendAll(out, news) != nil {
			return // the client is gone
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
	}
}

// question sends one question, with its preview.
func (s *Server) question(w http.ResponseWriter, r *http.Request) {
	q, err := s.service.Approvals().Get(r.PathValue("id"))
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	s.replyLarge(w, r, q)
}

// answer answers a question for the operator.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	d, ok := s.readDecision(w, r)
	if !ok {
		return
	}
	if d.Verdict != policy.Allow && d.Verdict != policy.Deny {
		fail(w, http.StatusBadRequest, tool.Errorf(tool.CodeInvalidArguments, "the verdict on a question is neither allow nor deny"))
		return
	}
	q, err := s.service.Approvals().Decide(r.PathValue("id"), d)
	s.record(r, audit.Record{
		Action: "approvals " + map[policy.Verdict]string{policy.Allow: "approve", policy.Deny: "deny"}[d.Verdict],
		Object: r.PathValue("id"), Tool: q.Tool, Session: q.Session, Approver: d.By, Message: d.Reason,
	}, err)
	switch {
	case tool.CodeOf(err) == tool.CodeNotFound:
		fail(w, http.StatusNotFound, err)
	case err != nil:
		fail(w, http.StatusConflict, err)
	default:
		reply(w, q)
	}
}

// ask puts a question of a process of the operator into the queue, and answers when it is decided.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	var q approval.Question
	if !s.readJSON(w, r, "question", &q) {
		return
	}
	d, err := s.service.Approvals().Ask(r.Context(), q)
	switch {
	case errors.Is(err, policy.ErrCannotAsk):
		reply(w, answered{Unasked: err.Error()})
	case err != nil:
		fail(w, http.StatusConflict, err)
	default:
		reply(w, answered{Decision: d, By: d.By})
	}
}

// Approvals returns the questions that wait, the oldest first.
func (c *Client) Approvals(ctx context.Context) ([]approval.Question, error) {
	var out []approval.Question
	err := c.get(ctx, "/v1/approvals", &out)
	return out, c.explain(err)
}

// Approval returns a question, with its preview if it waits.
//
// # Errors
//
// [tool.CodeNotFound] if there is none with that ID.
func (c *Client) Approval(ctx context.Context, id string) (approval.Question, error) {
	var out approval.Question
	err := c.get(ctx, "/v1/approvals/"+url.PathEscape(id), &out)
	return out, c.explain(err)
}

// Answer answers a question, and returns it.
//
// # Errors
//
// Those of [approval.Queue.Decide].
func (c *Client) Answer(ctx context.Context, id string, d policy.Decision) (approval.Question, error) {
	var out approval.Question
	err := c.post(ctx, "/v1/approvals/"+url.PathEscape(id), d, &out)
	return out, c.explain(err)
}

// FollowApprovals calls each with the questions that wait, and then with each that comes or is
// closed, until ctx or the daemon ends or each returns an error, which it returns.
func (c *Client) FollowApprovals(ctx context.Context, each func(approval.Question) error) error {
	if err := eachLine(ctx, c, "/v1/approvals?follow=true", each); err != nil || ctx.Err() != nil {
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
	var a answered
	err := c.post(ctx, "/v1/approvals", q, &a)
	var said *tool.Error
	switch {
	case ctx.Err() != nil:
		return policy.Decision{}, context.Cause(ctx)
	case errors.As(err, &said):
		return policy.Decision{}, err
	case err != nil: // it was killed, which decides on the question
		return policy.Decision{Verdict: policy.Deny, By: approval.ByEnd, Reason: approval.EndReason}, nil //nolint:nilerr // see there
	case a.Unasked != "":
		return policy.Decision{}, tool.Errorf(tool.CodeApprovalRequired, "%s", a.Unasked).Because(policy.ErrCannotAsk)
	}
	a.Decision.By = a.By
	return a.Decision, nil
}
