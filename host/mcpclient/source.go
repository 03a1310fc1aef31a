package mcpclient

import (
	"context"
	"errors"
	"maps"
	"slices"

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

// Notify implements [mcpwire.Source].
func (u source) Notify(n mcpwire.Notices) (stop func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notices[&n] = struct{}{}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.notices, &n)
	}
}

// tell calls f with all who have asked for notices.
func (u *Upstream) tell(f func(*mcpwire.Notices)) {
	u.mu.Lock()
	all := slices.Collect(maps.Keys(u.notices))
	u.mu.Unlock()
	for _, n := range all {
		f(n)
	}
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
