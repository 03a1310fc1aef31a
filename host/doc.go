// Package host is a registry of tools and the way that calls to them take.
//
// Start with [New]. [Host.Load] runs the plugin binaries of a directory,
// [Host.Attach] adds any other tool.Provider, [Host.Register] a function.
// [Host.Session] makes a caller with grants; its Execute returns a result or an
// error, its Call what a model is shown:
//
//	h, err := host.New(host.WithRoot("."))
//	...
//	defer h.Close(ctx)
//	_, err = h.Load(ctx, "plugins")
//	s := h.Session(host.WithGrants(tool.FSRead))
//	outcome := s.Call(ctx, tool.Call{Name: "fs.read", Arguments: []byte(`{"path": "README.md"}`)})
//
// A *Host is a tool.Provider itself, so hosts nest.
//
// gRPC has a log of its own, which is the process's, so the library leaves it alone. A
// plugin can make it write to standard error: a program that minds calls
// [google.golang.org/grpc/grpclog.SetLoggerV2], as the toolhost command does.
package host

// Version is the host's version, which plugins are told.
const Version = "0.1.0"
