package policy

import (
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hooks are notified of calls. They run in order on a separate goroutine and
// never delay a call: a hook that panics misses that event, and a hook that
// blocks causes later events to be dropped. Nil hooks are skipped.
type Hooks struct {
	// Before is called when a call comes in.
	Before func(Event)
	// After is called when a call ended with a result, including one that
	// reports the tool's own failure.
	After func(Event)
	// Error is called when a call ended with an error.
	Error func(Event)
}

// Event describes a call to a hook.
type Event struct {
	Time time.Time
	Call tool.Call
	// Caller is the caller's name; empty: it has none.
	Caller string
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
