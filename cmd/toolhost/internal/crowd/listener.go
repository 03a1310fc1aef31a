// Package crowd bounds the connections of a listener so that strangers who keep connections open, or open
// many, keep none out who is in time. Begin with [Listener].
package crowd

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// WriteTime bounds how long a client may take to read a part of an answer, of writeSize bytes.
const (
	WriteTime = time.Minute
	writeSize = 64 << 10
)

// Listener accepts so many connections at a time. When it is full, it closes one without a request that
// counts ([Use]): of the address that has most of these, the one that has waited longest. So an address with
// many makes room for those with few.
type Listener struct {
	net.Listener
	most int

	mu     sync.Mutex
	open   map[*connection]bool
	unused map[netip.Prefix]int // connections without a request that counts
}

// New bounds the connections of a listener.
func New(ln net.Listener, most int) *Listener {
	return &Listener{Listener: ln, most: most, open: map[*connection]bool{}, unused: map[netip.Prefix]int{}}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, listener: l, from: Network(conn.RemoteAddr().String()), since: time.Now()}
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

// Network returns what stands for an address with a port: what one household or machine has.
func Network(address string) netip.Prefix {
	at, _ := netip.ParseAddrPort(address)
	from, bits := at.Addr().Unmap().WithZone(""), 64
	if from.Is4() {
		bits = 32
	}
	out, _ := from.Prefix(bits)
	return out
}

// admit adds a connection, in place of a victim if there is no room. It refuses the connection
// if all others are in use.
func (l *Listener) admit(c *connection) (victim *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		for other := range l.open {
			if other.busy == 0 && (victim == nil || l.unused[other.from] > l.unused[victim.from] ||
				l.unused[other.from] == l.unused[victim.from] && other.since.Before(victim.since)) {
				victim = other
			}
		}
		if victim == nil {
			return nil, false
		}
		l.remove(victim)
	}
	l.open[c] = true
	l.unused[c.from]++
	return victim, true
}

// remove forgets a connection. The lock is held.
func (l *Listener) remove(c *connection) {
	if !l.open[c] {
		return
	}
	delete(l.open, c)
	if c.busy == 0 {
		l.less(c.from)
	}
}

func (l *Listener) less(from netip.Prefix) {
	if l.unused[from]--; l.unused[from] == 0 {
		delete(l.unused, from)
	}
}

// CloseUnused closes connections that have not had a request that counts for a second. An answer
// may still be on its way on the others.
func (l *Listener) CloseUnused() {
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
	listener *Listener
	from     netip.Prefix
	// Guarded by the listener's mu:
	busy  int       // requests that count
	since time.Time // when the last one ended, or the connection began
}

type connectionKey struct{}

// Context puts the connection of requests into their context: it is for [http.Server.ConnContext].
func Context(ctx context.Context, c net.Conn) context.Context {
	if encrypted, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// Use has a request count for its connection until done: it is not closed for another.
func Use(ctx context.Context) (done func()) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	c.count(1)
	return func() { c.count(-1) }
}

func (c *connection) count(n int) {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	before := c.busy == 0
	c.busy += n
	c.since = time.Now()
	switch after := c.busy == 0; {
	case before == after || !l.open[c]:
	case after:
		l.unused[c.from]++
	default:
		l.less(c.from)
	}
}

// Write implements [net.Conn]. A client that does not read loses its connection.
func (c *connection) Write(p []byte) (n int, err error) {
	for first := true; first || len(p) > 0 && err == nil; first = false {
		part := p[:min(len(p), writeSize)]
		_ = c.SetWriteDeadline(time.Now().Add(WriteTime))
		var m int
		m, err = c.Conn.Write(part)
		n, p = n+m, p[m:]
	}
	return n, err
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
