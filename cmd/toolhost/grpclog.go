package main

import (
	"io"
	"os"

	"google.golang.org/grpc/grpclog"
)

// quietGRPC keeps what gRPC has to say of a plugin's connection off standard error,
// where it would pass by --log-level, unless its own variable asks for it. What matters
// of it, errors say. The logger is the process's, so a library must not set it.
func quietGRPC() {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
}
