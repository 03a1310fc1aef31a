package main

import (
	"context"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// remote is a running daemon.
type remote struct {
	*control.Client
	state control.State // when the command began
}

var _ backend = remote{}

func (r remote) list(ctx context.Context, f host.Filter) ([]host.Tool, error) { return r.Tools(ctx, f) }

func (r remote) find(ctx context.Context, name string) (host.Tool, bool, error) {
	return r.Get(ctx, name)
}

func (r remote) count() int { return r.state.Tools }

// Plugins tells what the daemon's plugins do.
func (r remote) Plugins() []plugin.Status { return r.state.Plugins }

// Skipped are the daemon's.
func (r remote) Skipped() []plugin.Skipped {
	var out []plugin.Skipped
	for _, s := range r.state.Skipped {
		out = append(out, plugin.Skipped(s))
	}
	return out
}

func (r remote) faulty() []*tool.Error {
	var out []*tool.Error
	for _, p := range r.state.Faults {
		out = append(out, p.Error())
	}
	return out
}

func (r remote) call(ctx context.Context, c control.Call, a policy.Approver) control.Answer {
	return r.Call(ctx, c, a)
}

// close leaves the daemon as it is.
func (r remote) close(context.Context) error { return nil }
