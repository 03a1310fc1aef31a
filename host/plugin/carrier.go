package plugin

import (
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Carrier is what calls travel on. A plugin that does not offer the one that was
// chosen is spoken to on the next: Socket, then Stream, then Unary.
type Carrier string

// The carriers.
const (
	// Socket is a socket pair of which the plugin inherits one end: no path, no
	// dialling, and nobody else can reach it. The fastest. Plugins built with
	// pluginsdk offer it; there is none on Windows.
	Socket Carrier = "socket"
	// Stream is one gRPC stream on go-plugin's connection. The default.
	Stream Carrier = "stream"
	// Unary is a gRPC call each: what the simplest plugin has.
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
	return "", &tool.Error{
		Code: tool.CodeInvalidArguments, Message: fmt.Sprintf("unknown carrier %.40q", name), Hint: "use socket, stream or unary",
	}
}
