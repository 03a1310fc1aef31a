package policy

import (
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hooks are notified of calls, and of changes of tools and plugins. Those of calls run in
// order on one goroutine, the others each on one of their own, and never delay a call: a hook
// that panics misses that event, and a hook that blocks causes later events to be dropped
// when 1,024 wait; Host.Status counts them. Nil hooks are skipped.
type Hooks struct {
	// Before is called when a call comes in.
	Before func(Event)
	// After is called when a call ended with a result, including one that
	// reports the tool's own failure.
	After func(Event)
	// Error is called when a call ended with an error.
	Error func(Event)
	// Sampled makes each call a span of the trace that its caller names, or of a new one: its event has
	// it, and what the call leads to is below it. It returns, at once and on any goroutine, whether a trace
	// is sampled, by its ID; one that the caller has not sampled is not. Nil: a call passes on the trace of
	// its caller.
	Sampled func(trace [16]byte) bool
	// Tools is called when the tools of the host have changed.
	Tools func(ToolsChange)
	// Plugin is called when a plugin's state has changed.
	Plugin func(PluginChange)
}

// ToolsChange describes a change of a host's tools to a hook. At least one of its lists has
// a name; they are sorted.
type ToolsChange struct {
	Time time.Time
	// Added, Removed and Changed name tools: those that are there now, those that are gone,
	// and those that are defined otherwise.
	Added, Removed, Changed []string
}

// PluginChange describes the new state of a plugin to a hook.
type PluginChange struct {
	Time time.Time
	// Plugin is the plugin's name.
	Plugin string
	// State is one of those of package plugin, such as "ready"; empty: the plugin was
	// removed.
	State string
	// Reason says why, if there is a reason, for example how the process ended.
	Reason string
	// PID is the plugin's process; 0: it has none.
	PID int
}

// Event describes a call to a hook.
type Event struct {
	Time time.Time
	Call tool.Call
	// Caller is the caller's name; empty: it has none.
	Caller string
	// Account is who answers for the caller, such as the host of a fleet that it calls from;
	// empty: this host.
	Account string
	// Via is how the call came in, such as "mcp"; empty: in no way that is on record.
	Via string
	// Session is the session's ID.
	Session string
	// Plugin is the plugin that serves the tool; empty: a function of this
	// process, or unknown.
	Plugin string
	// Duration, Attempts, Result and Err are set for After and Error only.
	Duration time.Duration
	Attempts int
	Result   tool.Result
	Err      error
}
