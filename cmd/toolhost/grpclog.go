package main

import (
	"io"
	"os"

	"google.golang.org/grpc/grpclog"
)

// quietGRPC keeps gRPC's own log off standard error, where it would ignore --log-level, unless
// gRPC's variable asks for it: errors contain what matters. The logger is global to the process,
// so a library must not set it.
func quietGRPC() {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
}
