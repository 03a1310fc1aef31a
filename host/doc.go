// Package host is a registry of tools, and the chain of steps that a call of one passes.
//
// Start with [New]. [Host.Load] runs the plugin binaries of a directory,
// [Host.Attach] adds any other tool.Provider, [Host.Register] a function.
// [Host.Session] makes a caller with grants; its Execute returns a result or an
// error, its Call an [Outcome] that a model can be shown:
//
//	h, err := host.New(host.WithRoot("."))
//	...
//	defer h.Close(ctx)
//	_, err = h.Load(ctx, "plugins")
//	s := h.Session(host.WithGrants(tool.FSRead))
//	outcome := s.Call(ctx, tool.Call{Name: "fs.read", Arguments: []byte(`{"path": "README.md"}`)})
//
// A *Host is a tool.Provider itself, so hosts nest: a host that is attached to another one
// knows the callers of the other apart, and asks once about one call.
//
// gRPC has one log for the whole process, so this package leaves it alone. A plugin can make
// it write to standard error; [google.golang.org/grpc/grpclog.SetLoggerV2] redirects it, as
// in the toolhost command.
package host

// Version is the host's version, which plugins get when they are configured.
const Version = "0.1.0"
