package control

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Own is the part of a [Service] that needs only a host.
type Own struct {
	daemonv1.UnimplementedDaemonHandler
	Host *host.Host
	// Sees returns which tools a caller sees.
	Sees func(Caller) func(tool.Definition) bool
}

// State implements [Service].
func (o *Own) State() State {
	status := o.Host.Status()
	return State{
		Version: host.Version, Revision: Revision(), PID: os.Getpid(), Calls: status.Calls, Refused: status.Refused, Tools: o.Host.Len(),
		Plugins: o.Host.Plugins(), Skipped: status.Skipped, Leaving: status.Draining, Logs: o.Host.Journal("").Dir(),
	}
}

// Journal implements [Daemon].
func (o *Own) Journal(name string) *journal.Journal { return o.Host.Journal(name) }

// Get returns a tool that the caller sees.
func (o *Own) Get(c Caller, name string) (host.Tool, bool) {
	t, ok := o.Host.Get(name)
	return t, ok && o.Sees(c)(t.Definition)
}

// ListTools implements [Service].
func (o *Own) ListTools(ctx context.Context, r *daemonv1.ListToolsRequest) (*daemonv1.ListToolsResponse, error) {
	var found []host.Tool
	if r.GetName() != "" {
		if t, ok := o.Get(CallerOf(ctx), r.GetName()); ok {
			found = append(found, t)
		}
	} else {
		level, err := tool.ParseSafety(r.GetMaxSafety())
		if err != nil {
			return nil, err
		}
		sees := o.Sees(CallerOf(ctx))
		for _, t := range o.Host.Tools(host.Filter{MaxSafety: level, Categories: r.GetCategories(), Search: r.GetSearch()}) {
			if sees(t.Definition) {
				found = append(found, t)
			}
		}
	}
	out := &daemonv1.ListToolsResponse{Tools: Messages[daemonv1.Tool](found)}
	for i := range found {
		out.Tools[i].Claimed = Message[daemonv1.Definition](&found[i].Claimed)
	}
	return out, nil
}

// RestartPlugin implements [Service].
func (o *Own) RestartPlugin(ctx context.Context, r *daemonv1.RestartPluginRequest) (*daemonv1.RestartPluginResponse, error) {
	return &daemonv1.RestartPluginResponse{}, o.Host.RestartPlugin(ctx, r.GetName())
}

// RollbackPlugin implements [Service].
func (o *Own) RollbackPlugin(ctx context.Context, r *daemonv1.RollbackPluginRequest) (*daemonv1.RollbackPluginResponse, error) {
	return &daemonv1.RollbackPluginResponse{}, o.Host.RollbackPlugin(ctx, r.GetName())
}

// GetSandbox implements [Service].
func (o *Own) GetSandbox(_ context.Context, r *daemonv1.GetSandboxRequest) (*daemonv1.GetSandboxResponse, error) {
	out := &daemonv1.GetSandboxResponse{}
	if status, ok := o.Host.Sandbox(r.GetName()); ok {
		out.Sandbox = Message[daemonv1.Sandbox](&status)
	}
	return out, nil
}
