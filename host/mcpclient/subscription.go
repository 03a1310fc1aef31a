package mcpclient

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxFollowed bounds the resources that are subscribed to.
const maxFollowed = 1_000

// subscribe has changes of a resource told, across connections, until it is taken back as often.
func (l *link) subscribe(ctx context.Context, uri string) (err error) {
	u := l.u
	if ctx.Value(mcpwire.SubscriberKey{}) == nil {
		return tool.Errorf(tool.CodeUnsupported, "a subscription is for clients that listen to changes").
			Of("", u.config.Name).Try("read the resource again when it matters")
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
		err = l.follow(ctx, uri)
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
