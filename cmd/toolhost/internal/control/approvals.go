package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxReason bounds the reason of an answer, in bytes.
const maxReason = 400

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
	select {
	case s.readers <- struct{}{}:
		defer func() { <-s.readers }()
	default:
		fail(w, http.StatusServiceUnavailable, &tool.Error{
			Code: tool.CodeResourceExhausted, Message: fmt.Sprintf("%d clients read already", maxReaders), Hint: "end one of them",
		})
		return
	}
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
	body, release, err := s.readBody(w, r)
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	defer release()
	const none policy.Verdict = -1
	d := policy.Decision{Verdict: none}
	if err = json.Unmarshal(body, &d); err == nil && d.Verdict != policy.Allow && d.Verdict != policy.Deny {
		err = errors.New("its verdict is neither allow nor deny")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, tool.Errorf(tool.CodeInvalidArguments, "the answer cannot be read: %w", err))
		return
	}
	// On record is the process that answered: whether it asked a person is not known.
	d.By, d.Reason = peerOfRequest(r).String(), fmt.Sprintf("%.*s", maxReason, d.Reason)
	q, err := s.service.Approvals().Decide(r.PathValue("id"), d)
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
	body, release, err := s.readBody(w, r)
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	var q approval.Question
	err = json.Unmarshal(body, &q)
	release()
	if err != nil {
		fail(w, http.StatusBadRequest, tool.Errorf(tool.CodeInvalidArguments, "the question cannot be read: %w", err))
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
	text, err := json.Marshal(d)
	if err == nil {
		err = c.ask(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(id), bytes.NewReader(text), &out)
	}
	return out, c.explain(err)
}

// FollowApprovals calls each with the questions that wait, and then with each that comes or is
// closed, until ctx or the daemon ends or each returns an error, which it returns.
func (c *Client) FollowApprovals(ctx context.Context, each func(approval.Question) error) error {
	resp, err := c.send(ctx, http.MethodGet, "/v1/approvals?follow=true", nil)
	if err != nil {
		return c.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for dec := json.NewDecoder(resp.Body); ; {
		var q approval.Question
		if err := dec.Decode(&q); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return c.explain(err)
		}
		if err := each(q); err != nil {
			return err
		}
	}
}

// Queue returns an approver that puts questions into the daemon's queue.
func (c *Client) Queue() policy.Approver { return policy.ApproverFunc(c.enqueue) }

func (c *Client) enqueue(ctx context.Context, r policy.Request) (policy.Decision, error) {
	q, fails := approval.Describe(ctx, r)
	if fails {
		return policy.Decision{Verdict: policy.Fail}, nil
	}
	text, err := json.Marshal(q)
	if err != nil {
		return policy.Decision{}, err
	}
	var a answered
	err = c.ask(ctx, http.MethodPost, "/v1/approvals", bytes.NewReader(text), &a)
	var said *tool.Error
	switch {
	case ctx.Err() != nil:
		return policy.Decision{}, context.Cause(ctx)
	case errors.As(err, &said):
		return policy.Decision{}, err
	case err != nil: // it was killed, which decides on the question
		return policy.Decision{Verdict: policy.Deny, By: approval.ByEnd, Reason: approval.EndReason}, nil //nolint:nilerr // see there
	case a.Unasked != "":
		return policy.Decision{}, &tool.Error{Code: tool.CodeApprovalRequired, Message: a.Unasked, Err: policy.ErrCannotAsk}
	}
	a.Decision.By = a.By
	return a.Decision, nil
}
