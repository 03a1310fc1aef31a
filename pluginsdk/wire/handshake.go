package wire

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// ProtocolVersion is the version of the application protocol that this package
// speaks. Plugins and hosts negotiate it through go-plugin's VersionedPlugins.
const ProtocolVersion = 1

// The magic cookie tells a plugin that it was started by a host, and not by
// hand. It is no secret and no protection.
const (
	CookieKey   = "TOOLHOST_PLUGIN"
	CookieValue = "toolhost.plugin.v1"
)

// MaxMessage bounds one message in either direction, in bytes: 64 MiB. gRPC's
// own default of 4 MiB would refuse honest files.
const MaxMessage = 64 << 20

// dispenseName is the one entry of the plugin set.
const dispenseName = "tools"

// Handshake is go-plugin's handshake for both sides.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  ProtocolVersion,
		MagicCookieKey:   CookieKey,
		MagicCookieValue: CookieValue,
	}
}

// ServerPlugins is what a plugin offers, by protocol version.
func ServerPlugins(s *Server) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {dispenseName: &grpcPlugin{server: s}}}
}

// ClientPlugins is what a host understands, by protocol version.
func ClientPlugins() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {dispenseName: &grpcPlugin{}}}
}

// Dispense is the [Client] on a connected plugin.
func Dispense(p plugin.ClientProtocol) (*Client, error) {
	raw, err := p.Dispense(dispenseName)
	if err != nil {
		return nil, err
	}
	return raw.(*Client), nil
}

// Shutdown asks a plugin to end its process, by go-plugin's own service.
func Shutdown(ctx context.Context, conn grpc.ClientConnInterface) error {
	return conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
}

type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *Server
}

// GRPCServer implements go-plugin's interface for the plugin's end.
func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterToolPluginServer(s, p.server)
	return nil
}

// GRPCClient implements go-plugin's interface for the host's end.
func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return NewClient(c), nil
}
