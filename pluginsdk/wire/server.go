package wire

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Server shows a provider to a host over gRPC. Provider is required.
type Server struct {
	pluginv1.UnimplementedToolPluginServer

	// Provider has the tools.
	Provider tool.Provider
	// About describes the plugin; its Tools are not used, Provider.List is.
	About Description
	// OnConfigure takes the operator's configuration; nil: it is ignored.
	OnConfigure func(context.Context, Config) error
	// OnConnect runs when a host first speaks; nil: nothing does.
	OnConnect func()

	notices notices
}

// Describe implements the service.
func (s *Server) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	if s.OnConnect != nil {
		s.OnConnect()
	}
	defs, err := s.Provider.List(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, tool.AsError(err).Error())
	}
	about := s.About
	about.Tools = defs
	return descriptionToProto(about), nil
}

// Configure implements the service.
func (s *Server) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	if s.OnConfigure != nil {
		if err := s.OnConfigure(ctx, Config{Root: req.GetRoot(), JSON: req.GetConfigJson(), Protected: req.GetProtected()}); err != nil {
			return nil, status.Error(codes.FailedPrecondition, err.Error())
		}
	}
	return &pluginv1.ConfigureResponse{}, nil
}

// Execute implements the service. A host's error and a tool's answer both
// travel in the response: a gRPC status would lose the code and the hint.
func (s *Server) Execute(ctx context.Context, req *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	return responseOf(s.Provider.Execute(ctx, callOf(req))), nil
}

// Preview implements the service.
func (s *Server) Preview(ctx context.Context, req *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	p, ok := s.Provider.(tool.Previewer)
	if !ok {
		return responseOf(tool.Result{}, tool.NoPreview(req.GetTool())), nil
	}
	return responseOf(p.Preview(ctx, callOf(req))), nil
}

func callOf(req *pluginv1.ExecuteRequest) tool.Call {
	return tool.Call{ID: req.GetId(), Name: req.GetTool(), Arguments: req.GetArgumentsJson(), Session: req.GetSession()}
}

func responseOf(res tool.Result, err error) *pluginv1.ExecuteResponse {
	if err != nil {
		return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{Error: errorToProto(err)}}
	}
	return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Result{Result: resultToProto(res)}}
}
