package tool

import "context"

// Provider is a source of tools: functions in this process, a plugin's process, a host
// or a session. Both ends of the connection to a plugin implement it.
// Package tooltest checks that an implementation keeps this contract.
type Provider interface {
	// List returns the definitions, sorted by name. The caller owns them.
	List(context.Context) ([]Definition, error)

	// Execute runs one tool. Calls may overlap. It returns soon after its
	// context ends.
	//
	// # Errors
	//
	// An [*Error]; [CodeNotFound] for a name that List does not have. A tool's
	// own failure is not an error but a [Result] with IsError.
	Execute(context.Context, Call) (Result, error)

	// Close releases what the provider holds, and waits for it no longer than its
	// context. Closing twice is allowed.
	Close(context.Context) error
}

// Notifier is a [Provider] whose tools can change. Each receive means: List
// again. Notices may be merged. The channel closes with the provider.
type Notifier interface {
	Changes() <-chan struct{}
}

// Previewer is a [Provider] that can report what a call would do.
type Previewer interface {
	// Preview changes nothing. The result is for whoever approves the call;
	// one with IsError says why the call would fail.
	//
	// # Errors
	//
	// An [*Error]; [ErrNoPreview] for a tool that has none.
	Preview(context.Context, Call) (Result, error)
}

// Handler runs one tool.
type Handler func(context.Context, Call) (Result, error)
