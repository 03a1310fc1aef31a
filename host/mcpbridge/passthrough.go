package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// StartWith sets what starts the server when a request needs a connection and there is none:
// Host.StartPlugin, for the name under which the server is mounted.
func (u *Upstream) StartWith(start func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.start = start
}

// Capabilities returns what the server said last that it has; nil: it was not connected yet.
func (u *Upstream) Capabilities() *mcp.ServerCapabilities {
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

// Instructions returns what the server said last of how to use it. Empty: nothing.
func (u *Upstream) Instructions() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.about == nil {
		return ""
	}
	return u.about.Instructions
}

// connected returns the connection, which is made first if there is none.
func (u *Upstream) connected(ctx context.Context) (*link, error) {
	u.mu.Lock()
	l, start := u.link, u.start
	u.mu.Unlock()
	if l != nil {
		return l, nil
	}
	none := &tool.Error{
		Code: tool.CodeUnavailable, Plugin: u.config.Name,
		Message: fmt.Sprintf("the MCP server %s is not connected", u.config.Name), Hint: "try again later",
	}
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
func (u *Upstream) with(ctx context.Context, has capability) (*link, error) {
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
func (u *Upstream) need(ctx context.Context, what string, has capability) (*link, error) {
	l, err := u.with(ctx, has)
	if err == nil && l == nil {
		err = &tool.Error{
			Code: tool.CodeUnsupported, Plugin: u.config.Name,
			Message: fmt.Sprintf("the MCP server %s has no %s", u.config.Name, what),
		}
	}
	return l, err
}

// GetPrompt gets a prompt. What the server asks meanwhile goes to the client whose request ctx
// is. Of the parameters' _meta nothing is sent.
//
// # Errors
//
// Those of [Upstream.Prompts]; [tool.CodeUnsupported] if the server has no prompts, or asks what the
// client cannot answer; [tool.CodeInvalidResult] for a result that cannot be read.
func (u *Upstream) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	_, out, err := u.getPrompt(ctx, p)
	return out, err
}

// getPrompt also returns the result as the server sent it.
func (u *Upstream) getPrompt(ctx context.Context, p *mcp.GetPromptParams) (json.RawMessage, *mcp.GetPromptResult, error) {
	l, err := u.need(ctx, "prompts", hasPrompts)
	if err != nil {
		return nil, nil, err
	}
	raw, err := l.rounds(ctx, "", func(ctx context.Context, meta mcp.Meta, in answers) error {
		_, err := l.session.GetPrompt(ctx, &mcp.GetPromptParams{
			Meta: meta, Name: p.Name, Arguments: p.Arguments, InputResponses: in.responses, RequestState: in.state,
		})
		return err
	})
	if err != nil {
		return nil, nil, l.passed(ctx, err)
	}
	out, err := decoded[mcp.GetPromptResult](l, raw)
	return raw, out, err
}

// ReadResource reads a resource, as GetPrompt gets a prompt.
//
// # Errors
//
// Those of [Upstream.GetPrompt].
func (u *Upstream) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	_, out, err := u.readResource(ctx, p)
	return out, err
}

// readResource also returns the result as the server sent it.
func (u *Upstream) readResource(
	ctx context.Context, p *mcp.ReadResourceParams,
) (json.RawMessage, *mcp.ReadResourceResult, error) {
	l, err := u.need(ctx, "resources", hasResources)
	if err != nil {
		return nil, nil, err
	}
	raw, err := l.rounds(ctx, "", func(ctx context.Context, meta mcp.Meta, in answers) error {
		_, err := l.session.ReadResource(ctx, &mcp.ReadResourceParams{
			Meta: meta, URI: p.URI, InputResponses: in.responses, RequestState: in.state,
		})
		return err
	})
	if err != nil {
		return nil, nil, l.passed(ctx, err)
	}
	out, err := decoded[mcp.ReadResourceResult](l, raw)
	return raw, out, err
}

func decoded[R any](l *link, raw json.RawMessage) (*R, error) {
	var out R
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, &tool.Error{
			Code: tool.CodeInvalidResult, Plugin: l.u.config.Name,
			Message: fmt.Sprintf("a result of the MCP server %s cannot be read: %v", l.u.config.Name, l.clean(err)), Err: err,
		}
	}
	return &out, nil
}

// Complete completes an argument of a prompt or of a template.
//
// # Errors
//
// Those of [Upstream.Prompts]; [tool.CodeUnsupported] if the server completes nothing.
func (u *Upstream) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
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

// SetLevel sets from which level on the server sends its log, across connections. Clients
// share it: the lowest that one of them asked for. Empty: as the server does by itself.
//
// # Errors
//
// Those of [Upstream.Prompts], for a connection that is there; later ones get the level.
func (u *Upstream) SetLevel(ctx context.Context, level mcp.LoggingLevel) error {
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
	return &tool.Error{
		Code: tool.CodeUnavailable, Plugin: l.u.config.Name, Hint: "try again later", Err: err,
		Message: fmt.Sprintf("the MCP server %s cannot be reached: %v", l.u.config.Name, l.clean(err)),
	}
}
