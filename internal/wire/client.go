package wire

import (
	"context"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Client is the host's end of one plugin's gRPC connection. It checks only that
// answers are well formed; callers must not trust what an answer claims.
type Client struct {
	conn grpc.ClientConnInterface
}

// NewClient returns a client for the plugin at the other end of conn.
func NewClient(conn grpc.ClientConnInterface) *Client { return &Client{conn: conn} }

func (c *Client) invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	return c.conn.Invoke(ctx, method, in, out, append(opts, grpc.StaticMethod(), grpc.ForceCodecV2(newCodec()))...)
}

// Describe asks the plugin for its description.
//
// # Errors
//
// Describe returns the connection errors of [Client.Execute], and
// [tool.CodeInvalidDefinition] if a definition cannot be read.
func (c *Client) Describe(ctx context.Context, hostVersion string) (Description, error) {
	var raw undecoded
	in := &pluginv1.DescribeRequest{HostVersion: hostVersion}
	err := c.invoke(ctx, pluginv1.ToolPlugin_Describe_FullMethodName, in, &raw, grpc.MaxCallRecvMsgSize(maxDescription))
	if err != nil {
		return Description{}, statusError(ctx, "describe itself", err)
	}
	var d Description
	err = d.UnmarshalBinary(raw)
	return d, err
}

// Configure sends the operator's configuration to the plugin.
func (c *Client) Configure(ctx context.Context, cfg Config) error {
	in := &pluginv1.ConfigureRequest{Root: cfg.Root, ConfigJson: cfg.JSON, Protected: cfg.Protected}
	err := c.invoke(ctx, pluginv1.ToolPlugin_Configure_FullMethodName, in, &pluginv1.ConfigureResponse{})
	if err != nil {
		return statusError(ctx, "take its configuration", err)
	}
	return nil
}

// Execute runs one tool in the plugin.
//
// # Errors
//
// An error that the plugin returned is an [*tool.Error] with the plugin's code and
// [ErrClaimed] as its cause. Otherwise the code is [tool.CodeUnavailable] with
// [ErrDisconnected] as the cause if the connection is gone,
// [tool.CodeResourceExhausted] for a message larger than [MaxMessage],
// [tool.CodeInvalidResult] for an answer that cannot be read, and
// [tool.CodeCanceled] or [tool.CodeDeadlineExceeded] if the context ended.
func (c *Client) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return c.call(ctx, pluginv1.ToolPlugin_Execute_FullMethodName, "run ", call)
}

// maxPreview bounds a preview's message, in bytes: 4 MiB of content plus its envelope.
const maxPreview = 5 << 20

// Preview asks the plugin what a call would do. The plugin must offer
// [FeaturePreview].
//
// # Errors
//
// Preview returns the errors of [Client.Execute], and [tool.CodeNotFound] if the
// tool has no preview.
func (c *Client) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	return c.call(ctx, pluginv1.ToolPlugin_Preview_FullMethodName, "preview ", call, grpc.MaxCallRecvMsgSize(maxPreview))
}

// Health asks the plugin whether it can work; an empty problem says that it can. The plugin must
// offer [FeatureHealth].
//
// # Errors
//
// The connection errors of [Client.Execute].
func (c *Client) Health(ctx context.Context) (problem string, err error) {
	var out pluginv1.HealthResponse
	if err := c.invoke(ctx, pluginv1.ToolPlugin_Health_FullMethodName, &pluginv1.HealthRequest{}, &out); err != nil {
		return "", statusError(ctx, "say how it is", err)
	}
	return out.GetProblem(), nil
}

// Shutdown tells the plugin that no call comes any more, and waits until it has finished what it
// does for itself. The plugin must offer [FeatureShutdown].
//
// # Errors
//
// Those of [Client.Health].
func (c *Client) Shutdown(ctx context.Context) (problem string, err error) {
	var out pluginv1.ShutdownResponse
	if err := c.invoke(ctx, pluginv1.ToolPlugin_Shutdown_FullMethodName, &pluginv1.ShutdownRequest{}, &out); err != nil {
		return "", statusError(ctx, "shut down", err)
	}
	return out.GetProblem(), nil
}

func (c *Client) call(
	ctx context.Context, method, verb string, call tool.Call, opts ...grpc.CallOption,
) (tool.Result, error) {
	var reply undecoded
	if err := c.invoke(ctx, method, &request{call: call, trace: tool.TraceFrom(ctx)}, &reply, opts...); err != nil {
		return tool.Result{}, statusError(ctx, verb+call.Name, err)
	}
	return parseResponse(reply)
}
