package wire

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Greeting is the text that a plugin writes to the descriptor of [GRPCVariable] before
// it prints its handshake line, if it serves gRPC on that descriptor. The host then
// uses only that connection.
const Greeting = "toolhost.grpc.v1\n"

// GRPCConn is a connection for gRPC whose other end only the host holds.
type GRPCConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func newGRPCConn(c net.Conn) *GRPCConn { return &GRPCConn{Conn: c, closed: make(chan struct{})} }

// Close implements [net.Conn].
func (c *GRPCConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Serve serves the same services as go-plugin's Serve, but only on this connection:
// go-plugin opens a listener, which other processes of the same user can connect to.
// Serve calls handshake with the line to print. It returns when the host has asked the
// plugin to exit or the connection has ended.
//
// # Errors
//
// Serve returns the error of writing the greeting, and those of handshake.
func (c *GRPCConn) Serve(s *Server, handshake func(line string) error) error {
	var server *grpc.Server
	noOutput, _ := io.Pipe() // for GRPCStdio: what tools print goes to standard error instead
	g := &plugin.GRPCServer{
		Plugins: ServeConfig(s).VersionedPlugins[ProtocolVersion],
		Server: func(opts []grpc.ServerOption) *grpc.Server {
			server = newGRPCServer(opts)
			return server
		},
		DoneCh: make(chan struct{}), Stdout: noOutput, Stderr: noOutput,
	}
	if err := g.Init(); err != nil {
		return err
	}
	if _, err := io.WriteString(c.Conn, Greeting); err != nil {
		return err
	}
	line := fmt.Sprintf("%d|%d|unix|inherited|%s|\n",
		plugin.CoreProtocolVersion, ProtocolVersion, plugin.ProtocolGRPC)
	if err := handshake(line); err != nil {
		return err
	}
	conns := make(chan net.Conn, 1)
	conns <- c
	g.Serve(&oneListener{conn: c, conns: conns, stop: server.Stop, closed: make(chan struct{})})
	return nil
}

// oneListener is a listener that accepts one connection. When that connection has
// ended, oneListener stops the server.
type oneListener struct {
	conn   *GRPCConn
	conns  chan net.Conn
	stop   func()
	once   sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener].
func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.conn.closed:
		go l.stop() // in a goroutine, because it waits for Accept to return
		<-l.closed  // so that the server treats the error as its own stop
	case <-l.closed:
	}
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *oneListener) Addr() net.Addr { return &net.UnixAddr{Name: "inherited", Net: "unix"} }
