package wire

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// ProtocolVersion is the version of the application protocol that this package
// speaks. Plugins and hosts negotiate it through go-plugin's VersionedPlugins.
const ProtocolVersion = 1

// The magic cookie tells a plugin that a host started it, rather than a user in a
// shell. It is neither secret nor a security measure.
const (
	CookieKey   = "TOOLHOST_PLUGIN"
	CookieValue = "toolhost.plugin.v1"
)

// MaxMessage bounds one message in either direction, in bytes: 64 MiB. gRPC's
// default of 4 MiB would reject ordinary files.
const MaxMessage = 64 << 20

// dispenseName is the name of the only entry in the plugin set.
const dispenseName = "tools"

// Handshake returns go-plugin's handshake configuration, for hosts and plugins.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  ProtocolVersion,
		MagicCookieKey:   CookieKey,
		MagicCookieValue: CookieValue,
	}
}

// ServeConfig returns what go-plugin needs to serve s over gRPC. The caller may set a
// logger.
func ServeConfig(s *Server) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig:  Handshake(),
		VersionedPlugins: map[int]plugin.PluginSet{ProtocolVersion: {dispenseName: &grpcPlugin{server: s}}},
		GRPCServer:       newGRPCServer,
	}
}

func newGRPCServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(opts,
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.ForceServerCodecV2(newCodec()),
		// With dynamic windows gRPC measures the connection with one ping per call in
		// each direction, which doubles the writes. See docs/performance.md.
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(streamWindow))...)
}

// DialOptions returns the options of a host's gRPC connection to a plugin.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(streamWindow),
		grpc.WithDisableRetry(),
	}
}

// streamWindow is gRPC's flow-control window, in bytes. The stream also applies its
// own flow control to each message.
const streamWindow = 4 << 20

// ClientPlugins returns the plugin sets that a host supports, by protocol version.
func ClientPlugins() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {dispenseName: &grpcPlugin{}}}
}

// Dispense returns the [Client] for a connected plugin.
func Dispense(p plugin.ClientProtocol) (*Client, error) {
	raw, err := p.Dispense(dispenseName)
	if err != nil {
		return nil, err
	}
	return raw.(*Client), nil
}

// Shutdown asks a plugin to exit, through go-plugin's controller service.
func Shutdown(ctx context.Context, conn grpc.ClientConnInterface) error {
	return conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
}

type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *Server
}

// GRPCServer implements go-plugin's interface for the plugin's end.
func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&serviceDesc, p.server)
	return nil
}

// GRPCClient implements go-plugin's interface for the host's end.
func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return NewClient(c), nil
}
