// Package wire implements both ends of the protocol in
// proto/toolhost/plugin/v1/plugin.proto, and is the only package that uses
// protobuf. [Server] serves a tool.Provider to a host; [Client] and [Stream] are
// the host's end. Plugin authors should use package pluginsdk instead.
package wire
