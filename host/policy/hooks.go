package policy

import (
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hooks are told of calls. They run on a goroutine of their own, in order, after
// the fact: one that panics is left out of that event, and one that blocks makes
// later events be dropped, but neither holds up a call. Nil ones are left out.
type Hooks struct {
	// Before is told of a call when it comes in.
	Before func(Event)
	// After is told of a call that ended with a result, a tool's own failure
	// included.
	After func(Event)
	// Error is told of a call that ended with an error.
	Error func(Event)
}

// Event is one moment of a call.
type Event struct {
	Time time.Time
	Call tool.Call
	// Session is the caller's ID.
	Session string
	// Plugin serves the tool; empty: a function of this process, or not known.
	Plugin string
	// Duration, Attempts, Result and Err are of After and Error.
	Duration time.Duration
	Attempts int
	Result   tool.Result
	Err      error
}
