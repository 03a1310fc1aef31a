package control

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// patience is how long a connection may owe the daemon something, a request or the
// reading of a reply, before it can be closed to make room for another.
const patience = 50 * time.Millisecond

// connection is one of a listener's.
type connection struct {
	net.Conn
	peer  peer
	owing atomic.Int64 // since when its client owes something, in Unix nanoseconds; 0: it does not
	known atomic.Bool  // that its peer is not a plugin's
	leave func()
}

// owes notes whether it is the client's turn.
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

// overdue is for how long the client has owed something; negative: it does not.
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

// CloseWrite lets the server say no to a request that it does not read to its end: without
// it the client finds the connection closed before it has read the answer.
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

// connectionOf is nil where the server has a listener of another kind.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// peerOfRequest is who asks.
func peerOfRequest(r *http.Request) peer {
	if c := connectionOf(r); c != nil {
		return c.peer
	}
	return peer{}
}

// guarded refuses the processes of plugins: what a plugin asks of its host's daemon, it
// would get by the operator's word.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connectionOf(r)
		c.owes(false)
		defer c.owes(true)
		if c != nil && !c.known.Load() {
			if why := confine.OfPlugin(c.peer.pid, os.Getpid()); why != "" {
				fail(w, http.StatusForbidden, &tool.Error{
					Code: tool.CodePermissionDenied, Message: c.peer.String() + " is a plugin's, which the daemon does not serve: " + why,
					Hint: "use --no-daemon",
				})
				return
			}
			c.known.Store(true)
		}
		next.ServeHTTP(w, r)
	})
}
