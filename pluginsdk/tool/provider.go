package tool

import "context"

// Provider is a source of tools: functions in this process, a plugin's process, a host
// or a session. Both ends of the connection to a plugin implement it. Its methods may be
// called concurrently. Package tooltest checks that an implementation keeps this
// contract.
type Provider interface {
	// List returns the definitions, sorted by name. The caller owns them.
	List(context.Context) ([]Definition, error)

	// Execute runs one tool. Calls may overlap. Execute returns soon after its
	// context ends.
	//
	// # Errors
	//
	// An [*Error]; [CodeNotFound] for a name that List does not return. A tool that
	// fails in its own terms gives a [Result] with IsError and no error.
	Execute(context.Context, Call) (Result, error)

	// Close releases the provider's resources. It returns soon after its context ends,
	// even if it could not release all of them. It may be called more than once.
	Close(context.Context) error
}

// Notifier is a [Provider] whose tools can change.
type Notifier interface {
	// Changes returns a channel that receives a value when the tools have changed and
	// the caller should call List again. One value may stand for several changes. The
	// channel is closed when the provider is.
	Changes() <-chan struct{}
}

// Previewer is a [Provider] that can report what a call would do.
type Previewer interface {
	// Preview reports what Execute would do for the same call, and changes nothing.
	// The approver of the call sees the result; one with IsError says why the call
	// would fail.
	//
	// # Errors
	//
	// An [*Error], which wraps [ErrNoPreview] for a tool without a preview.
	Preview(context.Context, Call) (Result, error)
}

// SessionEnder is a [Provider] that keeps state for sessions, by [Call.Session].
type SessionEnder interface {
	// EndSession tells the provider that the calls of a session have ended and no more
	// come. It does not block: it is called while a session is closed, or its last call
	// returns. A host tells a provider that is attached to it of each session that called
	// one of its tools, and tells nothing of calls without a session of their own, such as
	// those of Host.Execute.
	EndSession(session string)
}

// Handler runs one tool. It may be called concurrently, and should return soon after its
// context ends.
type Handler func(context.Context, Call) (Result, error)

// Middleware adds a step to a handler.
type Middleware func(Handler) Handler
