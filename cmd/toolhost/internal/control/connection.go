package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// patience is how long a client may keep the daemon waiting, for a request or for the reading
// of a reply, before its connection may be closed to make room for another.
const patience = 50 * time.Millisecond

// connection is a connection of a [listener].
type connection struct {
	net.Conn
	peer  peer
	owing atomic.Int64 // since when the daemon waits for the client, in Unix nanoseconds; 0: it does not
	known atomic.Bool  // the peer is known not to be a process of a plugin
	leave func()
}

// owes records whether the daemon waits for the client.
func (c *connection) owes(on bool) {
	if c == nil {
		return
	}
	if on {
		c.owing.Store(time.Now().UnixNano())
	} else {
		c.owing.Store(0)
	}
}

// overdue returns how long the daemon has waited for the client; negative: it does not.
func (c *connection) overdue(now time.Time) time.Duration {
	since := c.owing.Load()
	if since == 0 {
		return -1
	}
	return max(0, time.Duration(now.UnixNano()-since))
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite lets the server refuse a request without reading all of it: otherwise the client
// would find the connection closed before it has read the answer.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	c, _ := conn.(*connection)
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request; nil if the server has another kind of
// listener.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// peerOfRequest returns the process that sent a request.
func peerOfRequest(r *http.Request) peer {
	if c := connectionOf(r); c != nil {
		return c.peer
	}
	return peer{}
}

// ofPlugin returns why the client counts as a process of a plugin; empty: it does not.
func (c *connection) ofPlugin() string {
	if conn, ok := c.Conn.(syscall.Conn); ok {
		return confine.OfPlugin(conn, true)
	}
	return fmt.Sprintf("who uses a %T is not known", c.Conn)
}

// refused refuses the processes of plugins: a plugin must not use the operator's rights in its host's
// daemon.
func (c *connection) refused() error {
	if c == nil || c.known.Load() {
		return nil
	}
	if why := c.ofPlugin(); why != "" {
		return tool.Errorf(tool.CodePermissionDenied,
			"%s belongs to a plugin, which the daemon does not serve: %s", c.peer.String(), why).Try("use --no-daemon")
	}
	c.known.Store(true)
	return nil
}
