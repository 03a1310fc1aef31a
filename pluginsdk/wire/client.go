package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// ErrDisconnected is the cause of a [tool.CodeUnavailable] error that says the
// connection is gone. An error with that code and another cause is the plugin's
// own word, of something that it needs itself.
var ErrDisconnected = errors.New("the connection to the plugin is gone")

// Client is a host's end of one plugin's connection. It checks the shape of
// what comes back and nothing else: what a plugin says is a claim.
type Client struct {
	conn grpc.ClientConnInterface
	rpc  pluginv1.ToolPluginClient
}

// NewClient speaks to the plugin at the other end of conn.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{conn: conn, rpc: pluginv1.NewToolPluginClient(conn)}
}

// Describe asks the plugin who it is and what it serves.
//
// # Errors
//
// Those of [Client.Execute] that say the plugin cannot be reached, and
// [tool.CodeInvalidDefinition] where a definition cannot be read.
func (c *Client) Describe(ctx context.Context, hostVersion string) (Description, error) {
	var raw undecoded
	err := c.conn.Invoke(ctx, pluginv1.ToolPlugin_Describe_FullMethodName, &pluginv1.DescribeRequest{HostVersion: hostVersion}, &raw,
		grpc.ForceCodecV2(newCodec()), grpc.MaxCallRecvMsgSize(maxDescription))
	if err != nil {
		return Description{}, statusError(ctx, "describe itself", err)
	}
	var d Description
	err = d.UnmarshalBinary(raw)
	return d, err
}

// Configure hands over the operator's configuration.
func (c *Client) Configure(ctx context.Context, cfg Config) error {
	_, err := c.rpc.Configure(ctx, &pluginv1.ConfigureRequest{Root: cfg.Root, ConfigJson: cfg.JSON, Protected: cfg.Protected})
	if err != nil {
		return statusError(ctx, "take its configuration", err)
	}
	return nil
}

// Execute runs one tool in the plugin.
//
// # Errors
//
// What the plugin returned, as an [*tool.Error] with its code. Else
// [tool.CodeUnavailable] with [ErrDisconnected] where the connection is gone,
// [tool.CodeResourceExhausted] for a message above [MaxMessage],
// [tool.CodeInvalidResult] for an answer that cannot be read,
// [tool.CodeCanceled] and [tool.CodeDeadlineExceeded] for the context's end.
func (c *Client) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	resp, err := c.rpc.Execute(ctx, newRequest(call))
	if err != nil {
		return tool.Result{}, statusError(ctx, "run "+call.Name, err)
	}
	return readResponse(resp)
}

// maxPreview bounds a preview's message, in bytes: 4 MiB, and what is around them.
const maxPreview = 5 << 20

// Preview asks the plugin what a call would do. It is for plugins that offer
// [FeaturePreview].
//
// # Errors
//
// Those of [Client.Execute]; [tool.CodeNotFound] where the tool has no preview.
func (c *Client) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	resp, err := c.rpc.Preview(ctx, newRequest(call), grpc.MaxCallRecvMsgSize(maxPreview))
	if err != nil {
		return tool.Result{}, statusError(ctx, "preview "+call.Name, err)
	}
	return readResponse(resp)
}

func newRequest(call tool.Call) *pluginv1.ExecuteRequest {
	return &pluginv1.ExecuteRequest{
		Id: clean(call.ID), Tool: clean(call.Name), ArgumentsJson: call.Arguments, Session: clean(call.Session),
	}
}

func readResponse(resp *pluginv1.ExecuteResponse) (tool.Result, error) {
	switch o := resp.GetOutcome().(type) {
	case *pluginv1.ExecuteResponse_Result:
		return resultFromProto(o.Result)
	case *pluginv1.ExecuteResponse_Error:
		return tool.Result{}, errorFromProto(o.Error)
	}
	return tool.Result{}, &tool.Error{
		Code: tool.CodeInvalidResult, Stage: tool.StageExecute, Message: "the plugin answered with neither a result nor an error",
		Hint: "report this to the plugin's author",
	}
}

// statusError makes sense of a gRPC status. Where the context has ended, that
// is the reason, whatever the transport made of it.
func statusError(ctx context.Context, what string, err error) *tool.Error {
	s := status.Convert(err)
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) && (s.Code() == codes.DeadlineExceeded || s.Code() == codes.Canceled) {
		<-ctx.Done() // the plugin's clock was a moment ahead of our timer
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return &tool.Error{
			Code: tool.CodeOf(ctxErr), Stage: tool.StageExecute,
			Message: fmt.Sprintf("gave up waiting for the plugin to %s: %v", what, deadline.Cause(ctx)), Err: ctxErr,
		}
	}
	out := &tool.Error{
		Stage: tool.StageExecute, Err: err,
		Message: fmt.Sprintf("the plugin could not %s: %s", what, s.Message()),
	}
	switch s.Code() {
	case codes.Unavailable, codes.Canceled:
		// Our own context is alive, so a cancelled call means that the
		// connection was closed under it.
		out.Code, out.Err = tool.CodeUnavailable, fmt.Errorf("%w: %w", ErrDisconnected, err)
	case codes.Aborted: // which no transport says
		out.Code = tool.CodeUnavailable
	case codes.DeadlineExceeded:
		out.Code = tool.CodeDeadlineExceeded
	case codes.ResourceExhausted:
		out.Code = tool.CodeResourceExhausted
		out.Hint = fmt.Sprintf("one message holds at most %d MiB, and what a plugin sends at a time %d MiB; ask for less at once",
			MaxMessage>>20, 2*MaxMessage>>20)
	case codes.Unimplemented:
		out.Code = tool.CodeUnavailable
		out.Hint = "the plugin does not serve toolhost.plugin.v1.ToolPlugin; rebuild it with a current SDK"
	case codes.FailedPrecondition, codes.InvalidArgument:
		out.Code = tool.CodeToolFailed
	default:
		out.Code = tool.CodeInvalidResult
	}
	return out
}
