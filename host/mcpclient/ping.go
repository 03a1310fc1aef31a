package mcpclient

import (
	"context"

	"github.com/toolhost/toolhost/internal/pluginrun"
)

var _ pluginrun.Pinger = (*link)(nil)

// Ping implements [pluginrun.Pinger]. A server of a revision that has no ping says so, which is an
// answer too.
func (l *link) Ping(ctx context.Context) error { return l.session.Ping(ctx, nil) }
