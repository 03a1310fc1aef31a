// Package callctx has the keys under which a call's context holds what package tool
// looks for. A context that answers them itself, as that of package wire does, saves a
// context for each.
package callctx

import "context"

type (
	// Call is the key of a *tool.Call.
	Call struct{}
	// Progress is the key of a func(tool.Progress).
	Progress struct{}
	// Waits is the key of a func(why string) (stop func()), which tells the caller that a call waits for a person.
	Waits struct{}
	// Log is the key of a func(slog.Level, string).
	Log struct{}
	// Trace is the key of a tool.Trace.
	Trace struct{}
	// Ask is the key of a tool.Asker.
	Ask struct{}
	// Deltas is the key of a func(tool.Delta).
	Deltas struct{}
	// Stream is the key of a *textstream.Slot.
	Stream struct{}
	// Sent is the key of a Sender, which is told when the arguments have been written to the plugin.
	Sent struct{}
	// Starts is the key of a func() (ended func(handshake time.Duration)), which is told that a call waits
	// for its plugin to start, and what part of that the handshake took.
	Starts struct{}
)

// Sender is who wants to know when arguments have been written. Any goroutine may tell it.
type Sender interface{ NoteSent() }

// Get returns what a call's context has under a key; the zero value: it has nothing.
func Get[T any](ctx context.Context, key any) (v T) {
	v, _ = ctx.Value(key).(T)
	return v
}
