package tool

import "context"

// Provider is a source of tools: functions of this process, a plugin's
// process, a host, a session. It stands on both sides of a plugin's pipe.
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
	// own failure is no error but a [Result] with IsError.
	Execute(context.Context, Call) (Result, error)

	// Close ends what the provider holds and waits for it, no longer than its
	// context. Closing twice is fine.
	Close(context.Context) error
}

// Notifier is a [Provider] whose tools can change. Each receive means: List
// again. Notices may be merged. The channel closes with the provider.
type Notifier interface {
	Changes() <-chan struct{}
}

// Previewer is a [Provider] that can tell what a call would do.
type Previewer interface {
	// Preview does nothing but look. The result is for whoever approves the call;
	// one with IsError says why the call would fail.
	//
	// # Errors
	//
	// An [*Error]; [ErrNoPreview] for a tool that has none.
	Preview(context.Context, Call) (Result, error)
}

// Handler runs one tool.
type Handler func(context.Context, Call) (Result, error)
