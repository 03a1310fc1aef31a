package mcpclient

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxFollowed bounds the resources that are subscribed to.
const maxFollowed = 1_000

// Subscribe implements [mcpwire.Source].
func (u source) Subscribe(ctx context.Context, uri string) error {
	l, err := u.need(ctx, "resources", hasResources)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.followed[uri]++
	first, full := u.followed[uri] == 1, len(u.followed) > maxFollowed
	u.mu.Unlock()
	switch {
	case full && first:
		err = tool.Errorf(tool.CodeResourceExhausted,
			"%d resources of the MCP server %s are subscribed to", maxFollowed, u.config.Name)
	case first:
		ctx, stop := context.WithTimeout(ctx, requestTime)
		defer stop()
		err = l.passed(ctx, l.follow(ctx, uri))
	}
	if err != nil {
		u.unfollow(uri)
	}
	return err
}

func (l *link) follow(ctx context.Context, uri string) error {
	return l.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

// unfollow takes back one subscription, and reports whether it was the last.
func (u *Upstream) unfollow(uri string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.followed[uri]--; u.followed[uri] > 0 {
		return false
	}
	delete(u.followed, uri)
	return true
}

// Unsubscribe implements [mcpwire.Source].
func (u source) Unsubscribe(ctx context.Context, uri string) error {
	u.mu.Lock()
	l, there := u.link, u.followed[uri] > 0
	u.mu.Unlock()
	if !there || !u.unfollow(uri) || l == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	return l.passed(ctx, l.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}))
}
