package plugin

// Carrier is what calls travel on. If a plugin does not offer the chosen one, the next is
// used: Socket, then Stream, then Unary.
type Carrier string

// The carriers.
const (
	// Socket is a socket pair of which the plugin inherits one end: no path, no dialling,
	// and no other process can reach it. The fastest, and the default. Plugins built with
	// pluginsdk offer it.
	Socket Carrier = "socket"
	// Stream is one gRPC stream on go-plugin's connection: for plugins that inherit nothing.
	Stream Carrier = "stream"
	// Unary is a gRPC call for each call: what the simplest plugin has.
	Unary Carrier = "unary"
)
