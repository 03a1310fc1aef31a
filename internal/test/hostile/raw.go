package hostile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The RPCs that modes have their own way with.
const (
	describeRPC = "/toolhost.plugin.v1.ToolPlugin/Describe"
	configRPC   = "/toolhost.plugin.v1.ToolPlugin/Configure"
	executeRPC  = "/toolhost.plugin.v1.ToolPlugin/Execute"
	streamRPC   = "/toolhost.plugin.v1.ToolPlugin/Stream"
	stdioRPC    = "/plugin.GRPCStdio/StreamStdio"
	brokerRPC   = "/plugin.GRPCBroker/StartStream"
	shutdownRPC = "/plugin.GRPCController/Shutdown"
	healthRPC   = "/grpc.health.v1.Health/Check"
)

// message is an encoded message in pieces, which may be one piece many times.
type message [][]byte

// server is a plugin with no SDK under it, not even go-plugin: it can say what
// they would not. The zero value is an honest one with the one tool [Tool].
type server struct {
	// about is what it says of itself; Features decide the carriers. Its zero value
	// is replaced by one with the tool.
	about wire.Description
	// describe is about as it travels; nil: as about is encoded.
	describe message
	// answer answers a call, on whatever carrier it came; nil: with "done".
	answer func(call)
	// speak is given each frame that comes on a stream, in place of answer.
	speak func(*frames, frame)
	// rpc has RPCs that are served otherwise.
	rpc map[string]func(grpc.ServerStream) error
	// conn changes a connection.
	conn func(net.Conn) net.Conn
	// over serves, if it is not nil, and does not return.
	over func(g *grpc.Server, l net.Listener)
	// opts are more options of the gRPC server.
	opts []grpc.ServerOption
	// shake is the handshake; nil: an honest one.
	shake func(address string) string
}

// call is one that came, by whatever carrier.
type call struct {
	tool  string
	args  []byte
	reply func(message)
}

// serve is what a mode does from its beginning to its end.
func (s server) serve() {
	if s.about.Tools == nil {
		s.about.Tools = []tool.Definition{define(Tool)}
	}
	if s.about.Features == nil {
		s.about.Features = []string{wire.FeatureStream, wire.FeatureSocket}
	}
	if s.describe == nil {
		b, err := s.about.MarshalBinary()
		must(err)
		s.describe = message{b}
	}
	if fd, err := strconv.Atoi(os.Getenv(wire.SocketVariable)); err == nil {
		f := os.NewFile(uintptr(fd), "stream")
		lane, err := net.FileConn(f) // closed on exec, unlike f
		must(errors.Join(err, f.Close(), os.Unsetenv(wire.SocketVariable)))
		go s.converse(&frames{lane: lane})
	}
	l := listen(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "hostile"))
	if s.conn != nil {
		l = changed{l, s.conn}
	}
	g := grpc.NewServer(append(s.opts, grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(s.handle),
		grpc.MaxSendMsgSize(math.MaxInt32), grpc.MaxRecvMsgSize(math.MaxInt32))...)
	if s.shake == nil {
		s.shake = honest
	}
	shout(s.shake(l.Addr().String()))
	if s.over != nil {
		s.over(g, l)
	}
	must(g.Serve(l))
}

// honest is the handshake line of a plugin that listens there.
func honest(address string) string { return "1|1|unix|" + address + "|grpc|\n" }

func listen(path string) net.Listener {
	l, err := net.Listen("unix", path) //nolint:noctx // it lives as long as the process
	must(err)
	return l
}

// changed is a listener whose connections are not what they were.
type changed struct {
	net.Listener
	conn func(net.Conn) net.Conn
}

func (c changed) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c.conn(conn), nil
}

// define is the definition of a harmless tool.
func define(name string) tool.Definition {
	return tool.Definition{
		Name: name, Description: "Does what its mode is for.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object"}`),
	}
}

// handle serves each RPC.
func (s server) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if own := s.rpc[method]; own != nil {
		return own(stream)
	}
	switch method {
	case streamRPC:
		s.converse(&frames{lane: &packets{stream: stream}})
		return nil
	case stdioRPC:
		<-stream.Context().Done()
		return nil
	}
	var in []byte
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	switch method {
	case describeRPC:
		return stream.SendMsg(s.describe)
	case configRPC:
		return stream.SendMsg(message{})
	case healthRPC:
		return stream.SendMsg(message{{1 << 3, 1}}) // SERVING
	case shutdownRPC:
		_ = stream.SendMsg(message{})
		os.Exit(0)
	case executeRPC:
		c := parseCall(in)
		replied := make(chan error)
		c.reply = func(m message) { replied <- stream.SendMsg(m) }
		go s.run(c)
		select {
		case err := <-replied:
			return err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
	return status.Error(codes.Unimplemented, method)
}

func (s server) run(c call) {
	if s.answer == nil {
		c.reply(text("done"))
		return
	}
	s.answer(c)
}

// hang is an RPC that never answers.
func hang(grpc.ServerStream) error {
	plugintest.Hang()
	return nil
}

// parseCall reads an ExecuteRequest.
func parseCall(b []byte) (c call) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return c
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return c
		}
		if value, m := protowire.ConsumeBytes(b); m > 0 && typ == protowire.BytesType {
			switch num {
			case 2:
				c.tool = string(value)
			case 3:
				c.args = value
			}
		}
		b = b[n:]
	}
	return c
}

// field is an encoded field with bytes in it.
func field(num protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), value)
}

// text is an ExecuteResponse with a text.
func text(s string) message { return message{field(1, field(1, field(1, field(1, []byte(s)))))} }

// structured is an ExecuteResponse with structured output.
func structured(json string) message { return message{field(1, field(2, []byte(json)))} }

// failure is an ExecuteResponse with an error.
func failure(code, msg string) message {
	return message{field(2, append(field(1, []byte(code)), field(2, []byte(msg))...))}
}

// codec lets messages be what they are.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return nil, fmt.Errorf("a %T", v)
	}
	out := make(mem.BufferSlice, len(m))
	for i, piece := range m {
		out[i] = mem.SliceBuffer(piece)
	}
	return out, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize() //nolint:forcetypeassert // nothing else is asked for
	return nil
}

// packets is a carrier on a gRPC stream.
type packets struct {
	stream grpc.ServerStream
	rest   []byte
}

func (p *packets) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		var in []byte
		if err := p.stream.RecvMsg(&in); err != nil {
			return 0, io.EOF
		}
		_, _, n := protowire.ConsumeTag(in)
		if data, m := protowire.ConsumeBytes(in[max(n, 0):]); m > 0 {
			p.rest = data
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *packets) Write(b []byte) (int, error) {
	return len(b), p.stream.SendMsg(message{field(1, b)})
}

func (p *packets) Close() error { return nil }
