package wire

import "google.golang.org/grpc"

// Register registers s with a gRPC server that [ServeConfig] made.
func Register(r grpc.ServiceRegistrar, s *Server) { r.RegisterService(&serviceDesc, s) }

// NewClient returns a client for the plugin at the other end of conn.
func NewClient(conn grpc.ClientConnInterface) *Client { return newClient(conn) }
