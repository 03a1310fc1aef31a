package wire

import (
	"context"
	"net"
)

// The environment variables of a plugin that its author debugs.
const (
	// DebugVariable, set to 1, has a plugin that no host started listen for hosts.
	DebugVariable = "TOOLHOST_DEBUG"
	// ReattachVariable tells a host where such plugins listen: a JSON object of [Reattach] by name.
	ReattachVariable = "TOOLHOST_REATTACH"
)

// Reattach says where a plugin listens that no host started.
type Reattach struct {
	Protocol        string // grpc
	ProtocolVersion int    // [ProtocolVersion]
	Pid             int
	Addr            ReattachAddr
}

// ReattachAddr is the address of a plugin that no host started.
type ReattachAddr struct {
	Network string // unix
	String  string // the absolute path of the socket
}

// ServeOn serves hosts that connect to a listener, one after the other or at the same time, until
// ctx ends. It closes the listener.
//
// # Errors
//
// The error of accepting a connection; nil if ctx has ended.
func (s *Server) ServeOn(ctx context.Context, l net.Listener) error {
	server := newGRPCServer(nil)
	server.RegisterService(&serviceDesc, s)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}
