package policy

import (
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hooks are notified of calls, and of changes of tools and plugins. Those of calls run in
// order on one goroutine, the others each on one of their own, and never delay a call, except for Sampled and Span: a hook
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
	// Span is called, besides After or Error, when a call has ended, on the call's own goroutine, which waits: it
	// returns at once. Other than these, it misses no event.
	Span func(Event)
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
	// Client is the program that made the call, as it calls itself; empty: not known.
	Client string
	// Session is the session's ID.
	Session string
	// Parent is the ID of the call in which this one was made; empty: it was made in none.
	Parent string
	// Trace is the trace that the call passes on, with its own span if [Hooks.Sampled] makes it one; zero: none.
	// ParentSpan is then the span that it was made in, of 16 hexadecimal digits; empty: it begins the trace.
	Trace      tool.Trace
	ParentSpan string
	// Running says what the call is at now: "asked", "started", "queued" or "ran", as in [Phases];
	// empty: it has ended. It is set for Before only.
	Running interface{ Phase() string }

	// The rest is set for After, Error and Span only.

	// Definition is the tool's, which must not be changed; nil: there is no such tool.
	Definition *tool.Definition
	// Plugin is the plugin that serves the tool; empty: a function of this process, or unknown.
	Plugin string
	// Safety is the tool's effective level; [tool.Unset]: there is no such tool.
	Safety tool.Safety
	// Decision and Approver are as in the call's record.
	Decision string
	Approver string
	Duration time.Duration
	Attempts int
	Phases   Phases
	Result   tool.Result
	Err      error
}
