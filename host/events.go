package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
)

// events passes on to hooks what happens in a host; nil: there are no hooks. Calls are many,
// so what is rare has queues of its own.
type events struct {
	calls   *chain.Observer
	tools   *chain.Queue[policy.ToolsChange]
	plugins *chain.Queue[policy.PluginChange]
}

func newEvents(hooks policy.Hooks, onPanic func(any)) *events {
	return &events{
		calls:   &chain.Observer{Hooks: hooks, Queue: chain.NewQueue[policy.Event](onPanic)},
		tools:   chain.NewQueue[policy.ToolsChange](onPanic),
		plugins: chain.NewQueue[policy.PluginChange](onPanic),
	}
}

// observer returns what reports calls; nil: nothing does.
func (e *events) observer() *chain.Observer {
	if e == nil {
		return nil
	}
	return e.calls
}

// sampled is that of the hooks, by which calls are spans; nil: they are none.
func (e *events) sampled() func([16]byte) bool {
	if e == nil {
		return nil
	}
	return e.calls.Hooks.Sampled
}

// toolsChanged reports a change of the tools.
func (e *events) toolsChanged(added, removed, changed []string) {
	if e != nil {
		e.tools.Send(e.calls.Hooks.Tools, policy.ToolsChange{
			Time: time.Now(), Added: added, Removed: removed, Changed: changed,
		})
	}
}

// pluginChanged reports the new state of a plugin.
func (e *events) pluginChanged(s plugin.Status) {
	if e != nil {
		e.plugins.Send(e.calls.Hooks.Plugin, policy.PluginChange{
			Time: time.Now(), Plugin: s.Name, State: string(s.State), Reason: s.Reason, PID: s.PID,
		})
	}
}

// close lets the hooks process what is queued, until ctx ends.
func (e *events) close(ctx context.Context) {
	if e != nil {
		e.calls.Close(ctx)
		e.tools.Close(ctx)
		e.plugins.Close(ctx)
	}
}
