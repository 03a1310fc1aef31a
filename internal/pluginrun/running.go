package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// Running is a plugin that its author started, perhaps in a debugger: the host connects to it, and
// neither confines nor ends its process. What its tools say of their time does not count, since
// whoever stops at a breakpoint takes longer. On Linux, the process that listens has to be the one
// that is named, or one that it started, and this user's.
type Running struct {
	// At is where it listens: a socket that other users cannot replace.
	At wire.Reattach
	// Lost is called when the connection has ended, and not by the host. It must not block. Nil:
	// nothing is.
	Lost func()
}

// KindRunning is the kind of a [Running] plugin; see [plugin.Status].
const KindRunning = "running"

// Command implements [plugin.Connector].
func (r *Running) Command() *plugin.Command { return nil }

// Connect implements [plugin.Connector]: it is a plugin, and a link of its own speaks with it.
func (r *Running) Connect(context.Context, io.ReadWriteCloser, plugin.Events) (plugin.Connection, error) {
	return nil, errors.ErrUnsupported
}

// check reports why the host must not connect; nil: it may.
func (r *Running) check() error {
	at := r.At
	shown := sanitize.Quote(at.Addr.String, 120)
	switch {
	case at.Protocol != "grpc":
		return fmt.Errorf("the running plugin speaks %s, and this host grpc", sanitize.Quote(at.Protocol, 20))
	case at.ProtocolVersion != wire.ProtocolVersion:
		return fmt.Errorf("the running plugin speaks version %d of the toolhost protocol, this host version %d",
			at.ProtocolVersion, wire.ProtocolVersion)
	case at.Pid <= 1:
		return fmt.Errorf("%d is not the number of a plugin's process", at.Pid)
	case at.Addr.Network != "unix" || !filepath.IsAbs(at.Addr.String):
		return fmt.Errorf("the running plugin listens at %s on network %s; only the absolute path of a unix socket is taken",
			shown, sanitize.Quote(at.Addr.Network, 20))
	}
	dir, err := os.Lstat(filepath.Dir(at.Addr.String))
	if err == nil && (!dir.IsDir() || !safefile.Private(dir, 0o022)) {
		return fmt.Errorf("the directory of the socket %s is not a directory of this user's in which only this user may write", shown)
	}
	var socket fs.FileInfo
	if err == nil {
		socket, err = os.Lstat(at.Addr.String)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no socket %s: the process %d has ended, or listens no more", shown, at.Pid)
	case err != nil:
		return err
	case socket.Mode().Type() != fs.ModeSocket || !safefile.Private(socket, 0o022):
		return fmt.Errorf("%s is not a socket of this user's to which only this user may connect", shown)
	}
	return nil
}

// dial connects, and checks who listens.
func (r *Running) dial(ctx context.Context) (net.Conn, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, internalTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.At.Addr.String)
	if err != nil {
		return nil, fmt.Errorf("the process %d has ended, or listens no more: %w", r.At.Pid, err)
	}
	if err := errors.Join(checkPeerUser(conn), checkPeer(conn, r.At.Pid)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// runningLink is the [link] to a [Running] plugin.
type runningLink struct {
	protocolLink
	running *Running
}

// connect implements [link].
func (l *runningLink) connect(ctx context.Context) (wire.Description, error) {
	conn, err := l.running.dial(ctx)
	if err != nil {
		return l.about, err
	}
	l.proc.grpc.use(&lossyConn{Conn: conn, lost: l.lost}, false)
	l.conn, err = grpc.NewClient("passthrough:///running",
		append(dialOptions(&l.proc.grpc, l.cfg.StartTimeout), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return l.about, err
	}
	l.wire = wire.NewClient(l.conn)
	if l.about, err = l.describe(ctx); err != nil {
		return l.about, err
	}
	return l.about, l.configure(ctx)
}

// lost ends the run when gRPC has closed the connection.
func (l *runningLink) lost() {
	if l.proc.isKilled() {
		return
	}
	l.proc.lose("the connection was lost")
	if l.running.Lost != nil {
		l.running.Lost()
	}
}

// describe implements [link].
func (l *runningLink) describe(ctx context.Context) (wire.Description, error) {
	about, err := l.protocolLink.describe(ctx)
	for i := range about.Tools {
		about.Tools[i].Timeout = 0
	}
	return about, err
}

// check implements [link]. A plugin that does not answer may be at a breakpoint.
func (l *runningLink) check() (serving, answered bool) { return true, true }

// saysProblems implements [link], for the same reason.
func (l *runningLink) saysProblems() bool { return false }

// shutdown implements [link]. Others may connect later.
func (l *runningLink) shutdown(context.Context) {}

// lossyConn says that it is closed.
type lossyConn struct {
	net.Conn
	once sync.Once
	lost func()
}

// Close implements [net.Conn].
func (c *lossyConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.lost)
	return err
}
