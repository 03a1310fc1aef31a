package plugin

import (
	"github.com/toolhost/toolhost/internal/socketpair"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Carrier is what calls travel on. If a plugin does not offer the chosen one, the next is
// used: Socket, then Stream, then Unary.
type Carrier string

// The carriers.
const (
	// Socket is a socket pair of which the plugin inherits one end: no path, no dialling,
	// and no other process can reach it. The fastest. Plugins built with pluginsdk offer
	// it.
	Socket Carrier = "socket"
	// Stream is one gRPC stream on go-plugin's connection. The default.
	Stream Carrier = "stream"
	// Unary is a gRPC call for each call: what the simplest plugin has.
	Unary Carrier = "unary"
)

// ParseCarrier reads a carrier's name; empty: [Stream].
//
// # Errors
//
// [tool.CodeInvalidArguments] for any other name.
func ParseCarrier(name string) (Carrier, error) {
	switch c := Carrier(name); c {
	case "":
		return Stream, nil
	case Socket, Stream, Unary:
		return c, nil
	}
	return "", tool.Errorf(tool.CodeInvalidArguments, "unknown carrier %.40q", name).Try("use socket, stream or unary")
}

// offerSockets makes the socket pairs that the process inherits ends of: one for calls, if
// that was chosen, and one for gRPC. If the first cannot be made, calls travel on the next carrier.
func (p *process) offerSockets() (err error) {
	if p.cmd.inheritSocket {
		if p.socket, p.cmd.socket, err = socketpair.New(); err != nil {
			p.log.Warn("no socket for the plugin's calls; they take the stream", "error", err)
		}
	}
	if p.grpc.ours, p.cmd.grpc, err = socketpair.New(); err != nil {
		return notConfined(err)
	}
	return nil
}
