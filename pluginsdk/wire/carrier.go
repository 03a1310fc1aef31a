package wire

import (
	"io"
	"time"
)

// Carrier moves a stream's bytes between a host and one plugin, in order and
// without loss. One goroutine reads at a time, and one writes.
type Carrier interface {
	io.Reader
	// Send writes head and then what is in body. Afterwards head and the list are
	// the caller's again; the bytes that the list names nobody changes any more.
	Send(head []byte, body [][]byte) error
	// Close ends the connection, and a Read and Send under way.
	Close() error
}

// interruptible is a carrier whose reading can be ended for a moment, so that
// callers can take turns at reading. SetReadDeadline is that of [net.Conn].
type interruptible interface {
	SetReadDeadline(time.Time) error
}

// The names of what a plugin offers, in its description's Features.
const (
	FeatureStream = "stream" // Stream on the plugin's gRPC connection
	FeatureSocket = "socket" // the same on an inherited socket
	FeatureStderr = "stderr" // it prints to its standard error, and not over go-plugin's GRPCStdio

	FeaturePreview  = "preview"  // the rpc Preview, which tools with a preview answer
	FeatureSessions = "sessions" // it keeps state for the sessions that call it
)
