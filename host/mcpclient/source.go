package mcpclient

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// source is what a server has besides tools, for the clients that a host serves.
type source struct{ *Upstream }

var _ mcpwire.Source = source{}

// Capabilities implements [mcpwire.Source].
func (u source) Capabilities() *mcp.ServerCapabilities {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.about == nil {
		return nil
	}
	if u.about.Capabilities == nil {
		return &mcp.ServerCapabilities{}
	}
	return u.about.Capabilities
}

// connected returns the connection, which is made first if there is none.
func (u *Upstream) connected(ctx context.Context) (*link, error) {
	u.mu.Lock()
	l, start := u.link, u.start
	u.mu.Unlock()
	if l != nil {
		return l, nil
	}
	none := tool.Errorf(tool.CodeUnavailable, "the MCP server %s is not connected", u.config.Name).
		Of("", u.config.Name).Try("try again later")
	if start == nil {
		return nil, none
	}
	if err := start(ctx); err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.link == nil {
		return nil, none
	}
	return u.link, nil
}

// capability is something that a server may have besides tools.
type capability func(*mcp.ServerCapabilities) bool

func hasPrompts(c *mcp.ServerCapabilities) bool     { return c.Prompts != nil }
func hasResources(c *mcp.ServerCapabilities) bool   { return c.Resources != nil }
func hasCompletions(c *mcp.ServerCapabilities) bool { return c.Completions != nil }

// with returns the connection to a server that has something; nil: it has not.
func (u source) with(ctx context.Context, has capability) (*link, error) {
	if c := u.Capabilities(); c != nil && !has(c) {
		return nil, nil
	}
	l, err := u.connected(ctx)
	if err != nil {
		return nil, err
	}
	if c := u.Capabilities(); c == nil || !has(c) {
		return nil, nil
	}
	return l, nil
}

// need is with for a request that makes no sense without.
func (u source) need(ctx context.Context, what string, has capability) (*link, error) {
	l, err := u.with(ctx, has)
	if err == nil && l == nil {
		err = tool.Errorf(tool.CodeUnsupported, "the MCP server %s has no %s", u.config.Name, what).Of("", u.config.Name)
	}
	return l, err
}

// GetPrompt implements [mcpwire.Source].
func (u source) GetPrompt(ctx context.Context, name string, arguments map[string]string) (json.RawMessage, error) {
	raw, _, err := get[mcp.GetPromptResult](ctx, u, "prompts", hasPrompts, func(
		ctx context.Context, l *link, meta mcp.Meta, in answers,
	) error {
		_, err := l.session.GetPrompt(ctx, &mcp.GetPromptParams{
			Meta: meta, Name: name, Arguments: arguments, InputResponses: in.responses, RequestState: in.state,
		})
		return err
	})
	return raw, err
}

// ReadResource implements [mcpwire.Source].
func (u source) ReadResource(ctx context.Context, uri string) (json.RawMessage, int, error) {
	raw, out, err := get[mcp.ReadResourceResult](ctx, u, "resources", hasResources, func(
		ctx context.Context, l *link, meta mcp.Meta, in answers,
	) error {
		_, err := l.session.ReadResource(ctx, &mcp.ReadResourceParams{
			Meta: meta, URI: uri, InputResponses: in.responses, RequestState: in.state,
		})
		return err
	})
	return raw, out.TTLMs, err
}

// get makes a request for what the server has, and returns the result as the server sent it, and
// decoded.
func get[R any](
	ctx context.Context, u source, what string, has capability,
	send func(context.Context, *link, mcp.Meta, answers) error,
) (raw json.RawMessage, out R, err error) {
	l, err := u.need(ctx, what, has)
	if err != nil {
		return nil, out, err
	}
	raw, err = l.rounds(ctx, "", func(ctx context.Context, meta mcp.Meta, in answers) error {
		return send(ctx, l, meta, in)
	})
	if err != nil {
		return nil, out, l.passed(ctx, err)
	}
	if err = json.Unmarshal(raw, &out); err != nil {
		err = tool.Errorf(tool.CodeInvalidResult,
			"a result of the MCP server %s cannot be read: %v", u.config.Name, l.clean(err)).Of("", u.config.Name).Because(err)
	}
	return raw, out, err
}

// Complete implements [mcpwire.Source].
func (u source) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	l, err := u.need(ctx, "completions", hasCompletions)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	out, err := l.session.Complete(ctx, &mcp.CompleteParams{
		Meta: traceMeta(ctx), Argument: p.Argument, Context: p.Context, Ref: p.Ref,
	})
	return out, l.passed(ctx, err)
}

// SetLevel implements [mcpwire.Source].
func (u source) SetLevel(ctx context.Context, level mcp.LoggingLevel) error {
	u.mu.Lock()
	u.level = level
	l := u.link
	u.mu.Unlock()
	if l == nil || level == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	return l.passed(ctx, l.setLevel(ctx, level))
}

func (l *link) setLevel(ctx context.Context, level mcp.LoggingLevel) error {
	about := l.session.InitializeResult()
	if l.stateless() || about.Capabilities == nil || about.Capabilities.Logging == nil {
		return nil // each request says it, or there is no log
	}
	return l.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: level})
}

// stateless reports whether the connection speaks the revision in which each request stands
// alone.
func (l *link) stateless() bool {
	about := l.session.InitializeResult()
	return about != nil && about.ProtocolVersion > lastWithSessions
}

// levelOf returns the level that a request on l has to carry; empty: none.
func (u *Upstream) levelOf(l *link) mcp.LoggingLevel {
	if !l.stateless() {
		return ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.level
}

// passed returns the error of a request as a served client may see it: the server's own
// errors as they are.
func (l *link) passed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if theirs := theirError(err); theirs != nil {
		return theirs
	}
	var already *tool.Error
	switch {
	case errors.As(err, &already):
		return already
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return tool.Errorf(tool.CodeUnavailable, "the MCP server %s cannot be reached: %v", l.u.config.Name, l.clean(err)).
		Of("", l.u.config.Name).Because(err).Try("try again later")
}
