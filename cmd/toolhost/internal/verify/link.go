package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// connect makes the gRPC connection to a process, without anything between: what the plugin answers is seen as it is.
// It returns when HTTP/2 is spoken on it.
func (p *process) connect(ctx context.Context, over net.Conn) error {
	if over == nil {
		address, err := p.socketPath()
		if err != nil {
			return err
		}
		var d net.Dialer
		if over, err = d.DialContext(ctx, "unix", address); err != nil {
			return fmt.Errorf("its socket cannot be connected to: %w", err)
		}
	}
	var once sync.Once
	dial := func(context.Context, string) (conn net.Conn, err error) {
		err = errors.New("a host connects once")
		once.Do(func() { conn, err = over, nil })
		return conn, err
	}
	conn, err := grpc.NewClient("passthrough:///plugin", append(wire.DialOptions(), grpc.WithUnaryInterceptor(p.bounded),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithIdleTimeout(0))...)
	if err != nil {
		return err
	}
	p.conn, p.client = conn, pluginv1.NewToolPluginClient(conn)
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("it does not speak HTTP/2 on its socket within %v", p.limit))
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		switch {
		case state == connectivity.TransientFailure:
			return errors.New("it closes the connection, or does not speak HTTP/2 without TLS on it")
		case p.hasEnded():
			return errors.New(p.ending())
		case !conn.WaitForStateChange(ctx, state):
			return context.Cause(ctx)
		}
	}
	return nil
}

// bounded is what each call of an RPC goes through: it takes no longer than a host waits, and its error is explained.
func (p *process) bounded(ctx context.Context, method string, in, out any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	ctx, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	return p.explain(ctx, path.Base(method), invoke(ctx, method, in, out, conn, opts...))
}

// notUTF8 is what gRPC does not carry.
const notUTF8 = "a text that is not UTF-8"

// explain says what an error of gRPC means for a plugin. It keeps the status.
func (p *process) explain(ctx context.Context, rpc string, err error) error {
	if err == nil {
		return nil
	}
	code := status.Code(err)
	var why string
	switch {
	case code == codes.Unavailable && p.ends(ctx, goneGrace):
		why = "is not answered: " + p.ending()
	case code == codes.DeadlineExceeded && ctx.Err() != nil:
		why = fmt.Sprintf("is not answered within %v", p.limit)
	case strings.Contains(err.Error(), "invalid UTF-8"): // as protobuf says
		why = "is answered with " + notUTF8
	default:
		why = fmt.Sprintf("is answered by the gRPC status %s: %s", code, sanitize.Line(status.Convert(err).Message(), 300))
	}
	return &rpcError{code, rpc + " " + why}
}

// How long a process may take to end, so that it is known how: one that has answered something else, and one whose
// connection is gone.
const (
	endGrace  = 500 * time.Millisecond
	goneGrace = 5 * time.Second
)

// rpcError is an error of gRPC with a text for authors.
type rpcError struct {
	code codes.Code
	text string
}

func (e *rpcError) Error() string              { return e.text }
func (e *rpcError) GRPCStatus() *status.Status { return status.New(e.code, e.text) }

// isWell returns an error if the process has ended or does not answer any more.
func (p *process) isWell(ctx context.Context) error {
	_, err := p.client.Describe(ctx, &pluginv1.DescribeRequest{})
	return err
}
