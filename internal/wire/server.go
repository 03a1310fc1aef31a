package wire

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Server serves a provider to a host. [ServeConfig] serves it over gRPC, and
// [Server.Serve] on a carrier. Provider is required.
type Server struct {
	// Provider lists and executes the tools.
	Provider tool.Provider
	// About describes the plugin. Its Tools are ignored: they come from Provider.List.
	About Description
	// Traced returns the context of the tool for one that has a trace. Nil: it is the same.
	Traced func(context.Context) context.Context
	// OnConfigure receives the operator's configuration. If nil, the server ignores it.
	OnConfigure func(context.Context, Config) error
	// OnSessionEnded runs when a session has ended, for one session at a time. Its context ends
	// with the stream. Nil: the plugin does not offer [FeatureSessionEnd].
	OnSessionEnded func(ctx context.Context, session string)
	// OnHealth returns why the plugin cannot work, or nil. Nil: it does not offer [FeatureHealth].
	OnHealth func(context.Context) error
	// OnShutdown runs after the last call. Nil: the plugin does not offer [FeatureShutdown].
	OnShutdown func(context.Context) error
	// Waits says that the provider is a host, whose calls may wait for a person there: their time stands still
	// meanwhile, and the caller is told.
	Waits bool
	// OnConnect runs each time a host asks for the description. It may be nil.
	OnConnect func()

	notices notices
	ended   endedSessions
}

// serviceDesc describes the service to gRPC. It replaces the generated description
// because Execute and Preview use hand-written messages: see codec.
var serviceDesc = grpc.ServiceDesc{
	ServiceName: pluginv1.ToolPlugin_ServiceDesc.ServiceName,
	Metadata:    pluginv1.ToolPlugin_ServiceDesc.Metadata,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		method("Describe", (*Server).describe),
		method("Configure", (*Server).configure),
		method("Execute", (*Server).execute),
		method("Preview", (*Server).preview),
		method("Health", (*Server).health),
		method("Shutdown", (*Server).shutdown),
	},
	Streams: []grpc.StreamDesc{{
		StreamName: "Stream", ClientStreams: true, ServerStreams: true,
		Handler: func(s any, stream grpc.ServerStream) error {
			return s.(*Server).Serve(stream.Context(), &pipe{stream: stream})
		},
	}},
}

func method[In any](name string, handle func(*Server, context.Context, *In) (any, error)) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: name,
		Handler: func(s any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(In)
			if err := decode(in); err != nil {
				return nil, err
			}
			return handle(s.(*Server), ctx, in)
		},
	}
}

func (s *Server) describe(ctx context.Context, _ *pluginv1.DescribeRequest) (any, error) {
	if s.OnConnect != nil {
		s.OnConnect()
	}
	s.listen()
	defs, err := s.Provider.List(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, tool.AsError(err).Error())
	}
	about := s.About
	about.Tools = defs
	return descriptionToProto(about), nil
}

func (s *Server) configure(ctx context.Context, in *pluginv1.ConfigureRequest) (any, error) {
	if s.OnConfigure != nil {
		cfg := Config{Root: in.GetRoot(), JSON: in.GetConfigJson(), Protected: in.GetProtected()}
		if err := s.OnConfigure(ctx, cfg); err != nil {
			return nil, status.Error(codes.FailedPrecondition, err.Error())
		}
	}
	return &pluginv1.ConfigureResponse{}, nil
}

// execute answers with a tool's result or with an error. The response carries both,
// because a gRPC status would lose the code and the hint.
func (s *Server) execute(ctx context.Context, in *request) (any, error) {
	if in.trace != (tool.Trace{}) {
		ctx = context.WithValue(ctx, callctx.Trace{}, &in.trace)
	}
	res, err := s.run(ctx, in.call, in.trace)
	out := newAnswer(&res, err)
	return &out, nil
}

// run runs a tool.
func (s *Server) run(ctx context.Context, call tool.Call, trace tool.Trace) (tool.Result, error) {
	if s.Traced != nil && trace.Parent != "" {
		ctx = s.Traced(ctx)
	}
	return s.Provider.Execute(ctx, call)
}

func (s *Server) preview(ctx context.Context, in *request) (any, error) {
	var res tool.Result
	var err error
	if p, ok := s.Provider.(tool.Previewer); ok {
		res, err = p.Preview(ctx, in.call)
	} else {
		err = tool.NoPreview(in.call.Name)
	}
	out := newAnswer(&res, err)
	return &out, nil
}
