// Package bare is both ends of a go-plugin plugin as its documentation shows one:
// gRPC, a unary call, defaults throughout. It is what toolhost is measured
// against. [Start] is the host's end, [Serve] the plugin's.
package bare

//go:generate sh -c "cd ../.. && go run github.com/bufbuild/buf/cmd/buf@v1.73.0 generate"

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/bench/internal/work"
	benchv1 "github.com/toolhost/toolhost/bench/proto/toolhost/bench/v1"
)

const dispensed = "tools"

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "TOOLHOST_BENCH", MagicCookieValue: "bare"}

// tools is the plugin as go-plugin sees it on either side.
type tools struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer implements [plugin.GRPCPlugin].
func (tools) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	benchv1.RegisterBenchServer(s, server{})
	return nil
}

// GRPCClient implements [plugin.GRPCPlugin].
func (tools) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return benchv1.NewBenchClient(conn), nil
}

type server struct {
	benchv1.UnimplementedBenchServer
}

// Call implements [benchv1.BenchServer].
func (server) Call(_ context.Context, req *benchv1.CallRequest) (*benchv1.CallResponse, error) {
	text, err := work.Handle(req.GetTool(), req.GetArguments())
	if err != nil {
		return nil, err
	}
	return &benchv1.CallResponse{Text: text}, nil
}

// Serve serves the tools to the host that started this process.
func Serve() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{dispensed: tools{}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}

// Client is a plugin that was started.
type Client struct {
	lifecycle *plugin.Client
	tools     benchv1.BenchClient
	process   *exec.Cmd
}

// Start runs a binary whose main function calls [Serve].
func Start(binary string) (*Client, error) {
	cmd := exec.Command(binary) //nolint:noctx // go-plugin ends it, as everywhere
	lifecycle := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{dispensed: tools{}},
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}), // the default one prints every step
	})
	c := &Client{lifecycle: lifecycle, process: cmd}
	connection, err := lifecycle.Client()
	if err == nil {
		var made any
		if made, err = connection.Dispense(dispensed); err == nil {
			c.tools = made.(benchv1.BenchClient)
			return c, nil
		}
	}
	lifecycle.Kill()
	return nil, fmt.Errorf("starting %s: %w", binary, err)
}

// Call runs a tool.
func (c *Client) Call(ctx context.Context, tool string, arguments []byte) (string, error) {
	res, err := c.tools.Call(ctx, &benchv1.CallRequest{Tool: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return res.GetText(), nil
}

// PID is the plugin's process.
func (c *Client) PID() int { return c.process.Process.Pid }

// Close ends the plugin: go-plugin asks, waits 2 s, and kills.
func (c *Client) Close() { c.lifecycle.Kill() }
