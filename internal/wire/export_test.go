package wire

import "google.golang.org/grpc"

// Register registers s with a gRPC server that [ServeConfig] made.
func Register(r grpc.ServiceRegistrar, s *Server) { r.RegisterService(&serviceDesc, s) }
