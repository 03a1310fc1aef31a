package pluginrun

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The services that go-plugin's client calls by itself, without a deadline.
const (
	brokerService   = "/plugin.GRPCBroker/"
	internalService = "/plugin."
	healthService   = "/grpc.health.v1.Health/"
	stdioService    = "/plugin.GRPCStdio/"
)

// maxStdio bounds one message of what a plugin prints, in bytes. go-plugin's server
// sends at most 1 KiB.
const maxStdio = 64 << 10

// internalTimeout bounds connecting, and go-plugin's own calls, such as Shutdown.
const internalTimeout = time.Second

// dialOptions put bounds on what go-plugin's client leaves open: message sizes,
// the deadlines of its own calls, and the broker, which is not used here and
// through which a plugin could fill the host's memory.
//
// gRPC is given the one connection, and must not close it for idleness: it could not make
// another.
func dialOptions(c *connection, startTimeout time.Duration) []grpc.DialOption {
	return append(wire.DialOptions(),
		grpc.WithContextDialer(c.dial), grpc.WithIdleTimeout(0),
		grpc.WithChainUnaryInterceptor(boundUnary),
		grpc.WithChainStreamInterceptor(boundStream(startTimeout)),
	)
}

func boundUnary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if strings.HasPrefix(method, internalService) || strings.HasPrefix(method, healthService) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, internalTimeout)
		defer cancel()
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// boundStream bounds how long opening a stream may take. Otherwise a plugin that accepts the
// connection and never speaks would hold it, and go-plugin's lock, for ever.
func boundStream(startTimeout time.Duration) grpc.StreamClientInterceptor {
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		if strings.HasPrefix(method, brokerService) {
			return nil, status.Error(codes.Unimplemented, "the host has no broker")
		}
		if strings.HasPrefix(method, stdioService) {
			opts = append(opts, grpc.MaxCallRecvMsgSize(maxStdio))
		}
		ctx, cancel := context.WithCancel(ctx) // not deferred: the stream lives with the connection
		bound := time.AfterFunc(startTimeout, cancel)
		defer bound.Stop()
		stream, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			cancel()
			if strings.HasPrefix(method, stdioService) {
				// With any other code go-plugin gives up, and leaves its connection open
				// with all that hangs on it. The next call says what is wrong.
				err = status.Error(codes.Unavailable, err.Error())
			}
		}
		return stream, err
	}
}

// warm makes a connection and a request that nothing answers, and reports whether it was sent: the first of a process
// takes several times as long as the next. Nothing of it is left.
func warm() bool {
	ours, theirs := net.Pipe()
	conn, err := grpc.NewClient("passthrough:///warm", append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return newGuardedConn(ours, func(int) {}), nil }))...)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), internalTimeout)
	defer cancel()
	sent := make(chan bool, 1)
	go func() { sent <- receiveOne(theirs) }()
	_ = wire.NewClient(conn).Configure(ctx, wire.Config{})
	_ = errors.Join(conn.Close(), ours.Close())
	about, err := wire.Description{Tools: []tool.Definition{{Name: "warm"}}}.MarshalBinary()
	if err == nil {
		_ = new(wire.Description).UnmarshalBinary(about)
	}
	return <-sent
}

// receiveOne is the other end: it reads until a request has come, or there is nothing to read, and closes.
func receiveOne(c net.Conn) (came bool) {
	defer func() { _ = c.Close() }()
	go func() { _, _ = c.Write([]byte{0, 0, 0, byte(http2.FrameSettings), 0, 0, 0, 0, 0}) }()
	in, b := frameScanner{left: len(http2.ClientPreface)}, make([]byte, 1024)
	for !came {
		n, err := c.Read(b)
		in.scan(b[:n], func(f frameHead) { came = came || f.kind == http2.FrameData })
		if err != nil {
			break
		}
	}
	return came
}
