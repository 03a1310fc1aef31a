package wire

import (
	"io"
	"time"
)

// Carrier moves a stream's bytes between a host and one plugin, in order and
// without loss. At most one goroutine reads at a time, and at most one writes.
type Carrier interface {
	io.Reader
	// Send writes head, followed by the slices in body. When it returns, the caller
	// may reuse head and the list itself, but must never modify the bytes that the
	// list refers to.
	Send(head []byte, body [][]byte) error
	// Close closes the connection and unblocks pending Read and Send calls.
	Close() error
}

// interruptible is a carrier whose Read can be interrupted, so that callers can
// take turns reading. SetReadDeadline works as in [net.Conn].
type interruptible interface {
	SetReadDeadline(time.Time) error
}

// memoryCarrier is a carrier that has in memory what came: Pending returns how many bytes a read need not
// wait for.
type memoryCarrier interface {
	Pending() int
}

// Names of optional abilities, as listed in a description's Features.
const (
	FeatureStream = "stream" // the plugin serves Stream on its gRPC connection
	FeatureSocket = "socket" // the plugin serves the stream on an inherited socket
	FeatureStderr = "stderr" // the plugin prints to its standard error, not over go-plugin's GRPCStdio

	FeaturePreview    = "preview"     // the plugin serves Preview, for tools that have a preview
	FeatureSessions   = "sessions"    // the plugin keeps state per calling session
	FeatureSessionEnd = "session_end" // the plugin is told on the stream when a session has ended
	FeatureHealth     = "health"      // the plugin serves Health
	FeatureShutdown   = "shutdown"    // the plugin serves Shutdown

	FeatureAsk = "ask" // calls on the stream may ask their callers questions
)
