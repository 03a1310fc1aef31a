// Package host is a registry of tools, and the chain of steps that a call of one passes.
//
//	h, err := host.New(host.WithRoot("."))
//	if err != nil {
//		return err
//	}
//	defer func() { _ = h.Close(ctx) }()
//	if _, err := h.Load(ctx, "plugins"); err != nil {
//		log.Print(err) // plugins that could not be used; the others work
//	}
//	s := h.Session(host.WithGrants(tool.FSRead))
//	fmt.Println(s.Call(ctx, tool.Call{Name: "fs.read", Arguments: []byte(`{"path": "README.md"}`)}).Content)
//
// [Host.Load] runs the plugin binaries of a directory, [Host.Register] adds a function, which
// pluginsdk.Func makes a tool of, [Host.Attach] any other tool.Provider and [Host.Mount] an MCP server.
// [Host.Session] makes a caller with grants and, by [WithApprover], one who decides on its dangerous calls; its
// Execute returns a result or an error, its Call an [Outcome] that a model can be shown. [WithAudit] puts all
// calls on record.
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
