package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// answer has what a server asks in a result answered by whoever made the call.
func (l *link) answer(call *openCall, requests map[string]inputRequest) (mcp.InputResponseMap, error) {
	if len(requests) > maxQuestions {
		return nil, tool.Errorf(tool.CodeResourceExhausted,
			"the MCP server %s asks %d questions at once, more than %d", l.u.config.Name, len(requests), maxQuestions)
	}
	group, ctx := errgroup.WithContext(call.ctx)
	var mu sync.Mutex
	all := mcpwire.NewTogether(len(requests))
	out := make(mcp.InputResponseMap, len(requests))
	for id, r := range requests {
		group.Go(func() error {
			ctx, done := all.With(ctx, id)
			defer done()
			response, err := l.question(ctx, r)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = response
			return nil
		})
	}
	return out, group.Wait()
}

func (l *link) question(ctx context.Context, r inputRequest) (mcp.InputResponse, error) {
	if err := l.permit(ctx, asksFor[r.Method]); err != nil {
		return nil, err
	}
	switch r.Method {
	case "elicitation/create":
		p, err := elicitation(r.Params)
		if err != nil {
			return nil, l.unreadable(err)
		}
		return l.elicit(ctx, p)
	case "sampling/createMessage":
		var p mcp.CreateMessageWithToolsParams
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return nil, l.unreadable(err)
		}
		return l.sample(ctx, &p)
	case "roots/list":
		return l.roots(ctx)
	}
	return nil, l.unreadable(fmt.Errorf("unknown kind %.100q", r.Method))
}

func (l *link) unreadable(err error) error {
	return tool.Errorf(tool.CodeInvalidResult, "a question of the MCP server %s cannot be read: %w", l.u.config.Name, err)
}

// elicitation decodes a question, with the schema as it was sent.
func elicitation(params json.RawMessage) (*mcp.ElicitParams, error) {
	var p mcp.ElicitParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	var schema struct {
		Raw json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &schema); err == nil && mcpjson.Present(schema.Raw) != nil {
		p.RequestedSchema = schema.Raw
	}
	if p.Mode == "" && p.URL != "" {
		p.Mode = mcpwire.ModeURL
	}
	return &p, nil
}

// isPage reports whether a URL is that of a page: others, such as javascript:, run what they say.
func isPage(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// ask runs f, which puts a question to a person or a model, within the bounds.
func ask[R any](ctx context.Context, l *link, f func(context.Context) (*R, error)) (*R, error) {
	defer l.asking.Add(-1)
	if n := l.asking.Add(1); n > maxQuestions {
		return nil, tool.Errorf(tool.CodeResourceExhausted,
			"%d questions of the MCP server %s wait for answers", n-1, l.u.config.Name)
	}
	ctx, stop := context.WithTimeout(ctx, questionTime)
	defer stop()
	return f(ctx)
}

// unanswered is the refusal of a question.
func (l *link) unanswered(kind string) error {
	return tool.Errorf(tool.CodeUnsupported,
		"the MCP server %s asks for %s, which whoever made the call cannot answer", l.u.config.Name, kind).
		Of("", l.u.config.Name).Try("call again with all that the tool needs as arguments")
}

func (l *link) elicit(ctx context.Context, p *mcp.ElicitParams) (out *mcp.ElicitResult, err error) {
	recorded := false
	defer func() {
		if action := ""; !recorded {
			if out != nil {
				action = out.Action
			}
			chain.TraceFrom(ctx).Asked(string(askElicitation), action, err)
		}
	}()
	if p.URL != "" && !isPage(p.URL) {
		return nil, l.unreadable(errors.New("only http and https pages can be opened"))
	}
	if err := l.plain(p); err != nil {
		return nil, err
	}
	said := *p
	said.Message, said.Meta = l.asks(p.Message), l.named(p.Meta)
	p = &said
	if to := mcpwire.PeerFrom(ctx); to != nil {
		return ask(ctx, l, func(ctx context.Context) (*mcp.ElicitResult, error) { return to.Elicit(ctx, p) })
	}
	asker := callctx.Get[tool.Asker](ctx, callctx.Ask{})
	if asker == nil || p.Mode == mcpwire.ModeURL {
		return nil, l.unanswered("an answer of a person")
	}
	schema, err := json.Marshal(p.RequestedSchema)
	if err != nil || p.RequestedSchema == nil {
		schema = nil
	}
	recorded = true // by the host's own steps
	return ask(ctx, l, func(ctx context.Context) (*mcp.ElicitResult, error) {
		answer, err := asker(ctx, tool.Question{Message: p.Message, Schema: schema, Plugin: l.u.config.Name})
		if err != nil {
			return nil, err
		}
		out := &mcp.ElicitResult{Action: string(answer.Action)}
		if answer.Action == "" {
			out.Action = string(tool.Cancel)
		}
		if answer.Action == tool.Accept && len(answer.Content) > 0 {
			if err := json.Unmarshal(answer.Content, &out.Content); err != nil {
				return nil, err
			}
			fillIn(out.Content, schema)
		}
		return out, nil
	})
}

// fillIn adds what a form has in place of what is left empty. Another client's answers are not touched: what a person
// left empty there is not theirs.
func fillIn(content map[string]any, schema json.RawMessage) {
	asked, _ := form.Parse(schema) // which whoever was asked has read
	for _, field := range asked.Fields {
		if _, given := content[field.Name]; !given && field.Default != nil {
			content[field.Name] = field.Default
		}
	}
}

func (l *link) sample(
	ctx context.Context, p *mcp.CreateMessageWithToolsParams,
) (_ *mcp.CreateMessageWithToolsResult, err error) {
	defer func() { chain.TraceFrom(ctx).Asked(string(askSampling), string(tool.Accept), err) }()
	to := mcpwire.PeerFrom(ctx)
	if to == nil {
		return nil, l.unanswered("an answer of a model")
	}
	if err := l.plain(p); err != nil {
		return nil, err
	}
	said := *p
	said.SystemPrompt, said.Meta = l.asks(p.SystemPrompt), l.named(p.Meta)
	p = &said
	return ask(ctx, l, func(ctx context.Context) (*mcp.CreateMessageWithToolsResult, error) {
		return to.CreateMessage(ctx, p)
	})
}
