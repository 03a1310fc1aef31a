package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var errForged = errors.New("the answer did not come from the client that was asked")

var _ mcpwire.Peer = (*running)(nil)

// unsupported is the error of a question that the client cannot answer.
func unsupported(what string) error {
	return tool.Errorf(tool.CodeUnsupported, "the client does not support %s", what).
		Try("do without it, or call again with all that the tool needs as arguments")
}

// asks reports whether the client answers questions of any kind.
func (at *request) asks() bool {
	c := at.can()
	return c != nil && (c.Elicitation != nil || c.Sampling != nil || c.RootsV2 != nil)
}

func (at *request) elicits(p *mcp.ElicitParams) bool {
	c := at.can()
	if c == nil || c.Elicitation == nil {
		return false
	}
	if p.Mode == mcpwire.ModeURL || p.Mode == "" && p.URL != "" {
		return c.Elicitation.URL != nil
	}
	return c.Elicitation.Form != nil || c.Elicitation.URL == nil
}

// question returns the context in which a question is put, and the request that it belongs to:
// the one that is open, or before a parked call is resumed, the last one.
func (r *running) question(ctx context.Context) (context.Context, context.CancelFunc, *request) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.client.server.opts.QuestionTimeout, errUnanswered)
	return ctx, cancel, r.last()
}

// questionContext is a context that ends as the question does, and has the values of the request that the
// question is sent with: the SDK finds the stream by them.
type questionContext struct {
	context.Context
	request context.Context
	answer  *relayedAnswer // nil: the SDK changes no answer to the question
}

func (c questionContext) Value(key any) any {
	if key == (answerKey{}) {
		return c.answer
	}
	return c.request.Value(key)
}

// relayedAnswer is an answer as the client gave it. The SDK fills in the defaults of the form, as befits who asks:
// what a person left empty is not theirs.
type relayedAnswer struct{ content *map[string]any }

type answerKey struct{}

// keep keeps the content of an answer, before the SDK sees it.
func (a *relayedAnswer) keep(res mcp.Result) {
	if r, ok := res.(*mcp.ElicitResult); ok && a != nil {
		content := maps.Clone(r.Content)
		a.content = &content
	}
}

// Elicit implements [mcpwire.Peer].
func (r *running) Elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ctx, cancel, at := r.question(ctx)
	defer cancel()
	if !at.elicits(p) {
		return nil, unsupported("elicitation")
	}
	if !at.latest {
		answer := &relayedAnswer{}
		res, err := sent(ctx, func() (*mcp.ElicitResult, error) {
			return at.session.Elicit(questionContext{ctx, at.ctx, answer}, p)
		})
		if err == nil && answer.content != nil {
			res.Content = *answer.content
		}
		return res, err
	}
	answer, err := r.put(ctx, p)
	if errors.Is(err, errUnanswered) {
		return &mcp.ElicitResult{Action: string(tool.Cancel)}, nil
	}
	res, _ := answer.(*mcp.ElicitResult)
	return res, err
}

// CreateMessage implements [mcpwire.Peer].
func (r *running) CreateMessage(
	ctx context.Context, p *mcp.CreateMessageWithToolsParams,
) (*mcp.CreateMessageWithToolsResult, error) {
	ctx, cancel, at := r.question(ctx)
	defer cancel()
	if c := at.can(); c == nil || c.Sampling == nil || len(p.Tools) > 0 && c.Sampling.Tools == nil {
		return nil, unsupported("sampling")
	}
	if !at.latest {
		return sent(ctx, func() (*mcp.CreateMessageWithToolsResult, error) {
			return at.session.CreateMessageWithTools(questionContext{ctx, at.ctx, nil}, p)
		})
	}
	answer, err := r.put(ctx, p)
	res, _ := answer.(*mcp.CreateMessageWithToolsResult)
	return res, err
}

// ListRoots implements [mcpwire.Peer].
func (r *running) ListRoots(ctx context.Context) (*mcp.ListRootsResult, error) {
	ctx, cancel, at := r.question(ctx)
	defer cancel()
	if c := at.can(); c == nil || c.RootsV2 == nil {
		return nil, unsupported("roots")
	}
	if !at.latest {
		return sent(ctx, func() (*mcp.ListRootsResult, error) {
			return at.session.ListRoots(questionContext{ctx, at.ctx, nil}, nil)
		})
	}
	answer, err := r.put(ctx, &mcp.ListRootsParams{})
	res, _ := answer.(*mcp.ListRootsResult)
	return res, err
}

// sent returns the answer to a request that was sent to the client. A client that takes too
// long has not answered.
func sent[R any](ctx context.Context, send func() (*R, error)) (*R, error) {
	res, err := send()
	if err != nil && errors.Is(context.Cause(ctx), errUnanswered) {
		if _, ok := any(res).(*mcp.ElicitResult); ok {
			return any(&mcp.ElicitResult{Action: string(tool.Cancel)}).(*R), nil //nolint:forcetypeassert // it is
		}
		return nil, errUnanswered
	}
	return res, err
}

// Capabilities implements [mcpwire.Peer].
func (r *running) Capabilities() *mcp.ClientCapabilities { return r.last().can() }

// ID implements [mcpwire.Peer].
func (r *running) ID() string { return r.client.session.ID() }

// Log implements [mcpwire.Peer].
func (r *running) Log(_ context.Context, p *mcp.LoggingMessageParams) {
	if at := r.attached(); at != nil {
		r.notes.add(func() { _ = at.session.Log(at.ctx, p) })
	}
}

// yesOrNo is the form of a question that the action alone answers.
var yesOrNo = json.RawMessage(`{"type":"object","properties":{}}`)

// ask is the [tool.Asker] of the client's calls.
func (r *running) ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	form := q.Schema
	if len(form) == 0 {
		form = yesOrNo
	}
	res, err := r.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: form})
	if err != nil {
		return tool.Answer{}, err
	}
	answer := tool.Answer{Action: tool.Action(res.Action)}
	if answer.Action != tool.Accept {
		return answer, nil
	}
	if answer.Content, err = json.Marshal(res.Content); err != nil {
		return tool.Answer{}, err
	}
	if res.Content == nil {
		answer.Content = json.RawMessage(`{}`)
	}
	if err := check(ctx, form, answer.Content); err != nil {
		return tool.Answer{}, tool.Errorf(tool.CodeInvalidArguments, "the client's answer does not fit the question: %w", err)
	}
	return answer, nil
}

func check(ctx context.Context, form, content json.RawMessage) error {
	s, err := schema.CompileOutput(form)
	if err != nil {
		return err
	}
	return s.Check(ctx, content)
}
