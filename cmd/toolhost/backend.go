package main

import (
	"context"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// backend is where a command finds the plugins: in a host of its own, or in a daemon.
// What it says of plugins and faults is of one moment, or of now.
type backend interface {
	// list are the tools that pass the filter, sorted by name.
	list(context.Context, host.Filter) ([]host.Tool, error)
	// find is the tool of a name.
	find(ctx context.Context, name string) (host.Tool, bool, error)
	// count counts the tools.
	count() int
	Plugins() []plugin.Status
	Skipped() []plugin.Skipped
	// faulty is why plugins, tools and directories cannot be used.
	faulty() []*tool.Error
	// call runs a call as a caller of its own. The approver, nil where there is nobody,
	// is not asked where the call brings its yes along.
	call(context.Context, control.Call, policy.Approver) control.Answer
	RestartPlugin(ctx context.Context, name string) error
	// close gives back what the command had of it.
	close(context.Context) error
}
