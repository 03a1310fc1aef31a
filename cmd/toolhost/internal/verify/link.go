package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// link is the gRPC connection to a process, without anything between: what the plugin answers is
// seen as it is.
type link struct {
	conn   *grpc.ClientConn
	client pluginv1.ToolPluginClient
	limit  time.Duration // of a call
	proc   *process
}

// connect makes the connection, and returns when HTTP/2 is spoken on it.
func (p *process) connect(ctx context.Context, over net.Conn, limit time.Duration) error {
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
	conn, err := grpc.NewClient("passthrough:///plugin", append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithIdleTimeout(0))...)
	if err != nil {
		return err
	}
	p.link = &link{conn: conn, client: pluginv1.NewToolPluginClient(conn), limit: limit, proc: p}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it does not speak HTTP/2 on its socket within %v", limit))
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

func (l *link) close() { _ = l.conn.Close() }

// within bounds a call.
func (l *link) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.limit)
}

// maxDescription bounds an answer to Describe, in bytes, as a host does.
const maxDescription = 16 << 20

func (l *link) describe(ctx context.Context, in *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return unary(ctx, l, "Describe", l.client.Describe, in, grpc.MaxCallRecvMsgSize(maxDescription))
}

func (l *link) configure(ctx context.Context, in *pluginv1.ConfigureRequest) error {
	_, err := unary(ctx, l, "Configure", l.client.Configure, in)
	return err
}

func (l *link) execute(ctx context.Context, in *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	return unary(ctx, l, "Execute", l.client.Execute, in)
}

func (l *link) preview(ctx context.Context, in *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	return unary(ctx, l, "Preview", l.client.Preview, in)
}

func unary[I, O any](ctx context.Context, l *link, rpc string, call func(context.Context, I, ...grpc.CallOption) (O, error),
	in I, opts ...grpc.CallOption,
) (O, error) {
	ctx, cancel := l.within(ctx)
	defer cancel()
	out, err := call(ctx, in, opts...)
	return out, l.explain(ctx, rpc, err)
}

// notUTF8 is what gRPC does not carry.
const notUTF8 = "a text that is not UTF-8"

// explain says what an error of gRPC means for a plugin. It keeps the status.
func (l *link) explain(ctx context.Context, rpc string, err error) error {
	if err == nil {
		return nil
	}
	code := status.Code(err)
	switch {
	case code == codes.Unavailable && l.proc.waitEnd(goneGrace):
		return &rpcError{code, fmt.Sprintf("%s is not answered: %s", rpc, l.proc.ending())}
	case code == codes.DeadlineExceeded && ctx.Err() != nil:
		return &rpcError{code, fmt.Sprintf("%s is not answered within %v", rpc, l.limit)}
	}
	if strings.Contains(err.Error(), "invalid UTF-8") { // as protobuf says
		return &rpcError{code, rpc + " is answered with " + notUTF8}
	}
	return &rpcError{code, fmt.Sprintf("%s is answered by the gRPC status %s: %s", rpc, code, sanitize.Line(status.Convert(err).Message(), 300))}
}

// How long a process may take to end, so that it is known how: one that has answered something else, and one whose
// connection is gone.
const (
	endGrace  = 500 * time.Millisecond
	goneGrace = 5 * time.Second
)

func (p *process) waitEnd(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// rpcError is an error of gRPC with a text for authors.
type rpcError struct {
	code codes.Code
	text string
}

func (e *rpcError) Error() string              { return e.text }
func (e *rpcError) GRPCStatus() *status.Status { return status.New(e.code, e.text) }

// isWell returns an error if the process has ended or does not answer any more.
func (p *process) isWell(ctx context.Context) error {
	_, err := p.link.describe(ctx, &pluginv1.DescribeRequest{})
	return err
}
