package wire

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Greeting is what a plugin writes to the descriptor of [GRPCVariable] before its
// handshake line, if it serves gRPC there. The host then speaks to it there and
// nowhere else.
const Greeting = "toolhost.grpc.v1\n"

// GRPCConn is a connection for gRPC whose other end only the host has.
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

// Serve serves what go-plugin's Serve would, on the connection and nowhere else: that
// opens a listener, which other processes of the same user can connect to. It calls
// handshake with the line that is to be printed, and returns when the host has asked
// the plugin to end, or the connection has ended: nothing else can reach it.
//
// # Errors
//
// Where the host cannot be greeted, and those of handshake.
func (c *GRPCConn) Serve(s *Server, handshake func(line string) error) error {
	var server *grpc.Server
	nothing, _ := io.Pipe() // is read for GRPCStdio: what tools print, standard error has
	g := &plugin.GRPCServer{
		Plugins: ServeConfig(s).VersionedPlugins[ProtocolVersion],
		Server: func(opts []grpc.ServerOption) *grpc.Server {
			server = newGRPCServer(opts)
			return server
		},
		DoneCh: make(chan struct{}), Stdout: nothing, Stderr: nothing,
	}
	if err := g.Init(); err != nil {
		return err
	}
	if _, err := io.WriteString(c.Conn, Greeting); err != nil {
		return err
	}
	err := handshake(fmt.Sprintf("%d|%d|unix|inherited|%s|\n", plugin.CoreProtocolVersion, ProtocolVersion, plugin.ProtocolGRPC))
	if err != nil {
		return err
	}
	conns := make(chan net.Conn, 1)
	conns <- c
	g.Serve(&oneListener{conn: c, conns: conns, stop: server.Stop, closed: make(chan struct{})})
	return nil
}

// oneListener is a listener that accepts one connection. When that has ended, it has
// its server stopped.
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
		go l.stop() // which waits for this to return
		<-l.closed  // so that the server knows why
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
