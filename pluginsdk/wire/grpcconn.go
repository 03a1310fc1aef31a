package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Greeting is what a plugin writes to the descriptor of [GRPCVariable] before its
// handshake line, if it serves gRPC there. The host then speaks to it there and
// nowhere else.
const Greeting = "toolhost.grpc.v1\n"

// GRPCConn is a connection for gRPC whose other end only the host has. A server with
// its options serves nobody else: what connects to the listener that go-plugin opens,
// where any process of the same user can, is hung up on.
type GRPCConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func newGRPCConn(c net.Conn) *GRPCConn { return &GRPCConn{Conn: c, closed: make(chan struct{})} }

// ServerOption makes a gRPC server serve the connection alone.
func (c *GRPCConn) ServerOption() grpc.ServerOption {
	return grpc.Creds(onlyOne{insecure.NewCredentials(), c})
}

// Close implements [net.Conn], and ends the listener of serve.
func (c *GRPCConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// serve greets the host, and has the connection served until it ends, and with it
// the server: nothing else can reach it. All services must be registered.
func (c *GRPCConn) serve(s *grpc.Server) error {
	if _, err := io.WriteString(c.Conn, Greeting); err != nil {
		return err
	}
	conns := make(chan net.Conn, 1)
	conns <- c
	go func() {
		_ = s.Serve(&oneListener{conn: c, conns: conns}) // it says that the connection is closed
		s.Stop()
	}()
	return nil
}

// onlyOne are credentials that one connection has, and no other.
type onlyOne struct {
	credentials.TransportCredentials
	conn net.Conn
}

var errNotTheHost = errors.New("only the connection that the host inherited to this process is served")

// ServerHandshake implements [credentials.TransportCredentials].
func (o onlyOne) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if c != o.conn {
		return nil, nil, errNotTheHost
	}
	return o.TransportCredentials.ServerHandshake(c)
}

// ClientHandshake implements [credentials.TransportCredentials].
func (o onlyOne) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errNotTheHost
}

// Clone implements [credentials.TransportCredentials].
func (o onlyOne) Clone() credentials.TransportCredentials { return o }

// oneListener is a listener that accepts one connection and ends with it.
type oneListener struct {
	conn  *GRPCConn
	conns chan net.Conn
}

// Accept implements [net.Listener].
func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.conn.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *oneListener) Close() error { return l.conn.Close() }

// Addr implements [net.Listener].
func (l *oneListener) Addr() net.Addr { return &net.UnixAddr{Name: "inherited", Net: "unix"} }
