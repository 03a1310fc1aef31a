// Package mode has what durable calls and hosts both know: how often a call may run.
package mode

// Mode says how often a call may run; empty: the call is not durable.
type Mode string

// Queue is what an attached provider is that has calls of the host's own tools wait in a queue, from which they come
// back with [FromQueue] in their contexts. It runs such a call if the context has [Own].
type Queue interface {
	// DurableMode returns how often calls of a tool may run.
	DurableMode(tool string) Mode
}

type (
	// Own is the key of a bool: the call is of a tool of this host, and to wait in the queue.
	Own struct{}
	// Asked is the key of a func(), which is called before an approver is asked about the call.
	Asked struct{}
	// FromQueue is the key of a bool: the call has waited in the queue, and so have those that are made in it.
	FromQueue struct{}
)
