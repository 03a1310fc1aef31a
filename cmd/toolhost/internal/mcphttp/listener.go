package mcphttp

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
)

// writeTime bounds how long a client may take to read a part of an answer, of writeSize bytes.
const (
	writeTime = time.Minute
	writeSize = 64 << 10
)

// Listen opens an address, for so many connections at a time. What is not encrypted is for
// programs of this machine only.
//
// # Errors
//
// [*exit.Error] for an address that is not of the loopback without encryption, or that cannot be
// opened.
func Listen(address string, encrypted bool, most int) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, exit.Usage(fmt.Sprintf("--listen: %q is not an address: %v", address, err), "use one such as 127.0.0.1:7411")
	}
	if !encrypted && !at.IP.IsLoopback() {
		return nil, exit.Usage(fmt.Sprintf("--listen: %q is reached from other machines, and tokens would travel there in plain text", address),
			"set mcp.tls.cert and mcp.tls.key in the configuration, or listen on a loopback address such as 127.0.0.1:7411")
	}
	network := "tcp"
	if at.IP.To4() != nil { // 0.0.0.0 would be all addresses of IPv6, too
		network = "tcp4"
	}
	ln, err := net.ListenTCP(network, at)
	if err != nil {
		return nil, exit.With(exit.Failed, fmt.Errorf("--listen: %q cannot be opened: %w: name another address", address, err))
	}
	return &listener{Listener: ln, most: most, open: map[*connection]bool{}}, nil
}

// listener accepts connections. When it is full, it closes the one that has waited longest
// without a request of a caller, so that strangers who keep connections open keep no caller out.
type listener struct {
	net.Listener
	most int

	mu   sync.Mutex
	open map[*connection]bool
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, listener: l, since: time.Now()}
		victim, ok := l.admit(c)
		if victim != nil {
			_ = victim.Close()
		}
		if ok {
			return c, nil
		}
		_ = conn.Close()
	}
}

// admit adds a connection, in place of a victim if there is no room. It refuses the connection
// if all others are in use.
func (l *listener) admit(c *connection) (victim *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		for other := range l.open {
			if other.busy == 0 && (victim == nil || other.since.Before(victim.since)) {
				victim = other
			}
		}
		if victim == nil {
			return nil, false
		}
		delete(l.open, victim)
	}
	l.open[c] = true
	return victim, true
}

// closeUnused closes connections that have not had a request of a caller for a second. An answer
// may still be on its way on the others.
func (l *listener) closeUnused() {
	l.mu.Lock()
	var unused []*connection
	for c := range l.open {
		if c.busy == 0 && time.Since(c.since) > time.Second {
			unused = append(unused, c)
		}
	}
	l.mu.Unlock()
	for _, c := range unused {
		_ = c.Close()
	}
}

// connection is one that was accepted.
type connection struct {
	net.Conn
	listener *listener
	// Guarded by the listener's mu:
	busy  int       // requests of callers
	since time.Time // when the last one ended, or the connection began
}

type connectionKey struct{}

// withConnection puts the connection of requests into their context.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// use marks the connection of a request as one of a caller, until done.
func use(ctx context.Context) (done func()) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	c.count(1)
	return func() { c.count(-1) }
}

func (c *connection) count(n int) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy += n
	c.since = time.Now()
}

// Write implements [net.Conn]. A client that does not read loses its connection.
func (c *connection) Write(p []byte) (n int, err error) {
	for first := true; first || len(p) > 0 && err == nil; first = false {
		part := p[:min(len(p), writeSize)]
		_ = c.SetWriteDeadline(time.Now().Add(writeTime))
		var m int
		m, err = c.Conn.Write(part)
		n, p = n+m, p[m:]
	}
	return n, err
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
