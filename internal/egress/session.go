package egress

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// session is one connection of the plugin and, later, the one that it is given. When its
// context ends, both are closed, and with them ends everything that reads and writes them.
type session struct {
	proxy  *Proxy
	ctx    context.Context
	cancel context.CancelFunc
	client net.Conn

	began time.Time
	last  atomic.Int64 // when a byte was last read or written, since began
	idle  atomic.Int64 // how long that may be ago
	watch *time.Timer

	mu    sync.Mutex
	conns []net.Conn
}

func newSession(p *Proxy, conn net.Conn) *session {
	s := &session{proxy: p, began: time.Now()}
	s.ctx, s.cancel = context.WithCancel(p.ctx)
	s.idle.Store(int64(idleTime))
	s.watch = time.AfterFunc(idleTime, s.onTime)
	s.client = s.watched(conn)
	return s
}

// run serves the connection to its end.
func (s *session) run(serve func(*session)) {
	closed := make(chan struct{})
	context.AfterFunc(s.ctx, func() {
		defer close(closed)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.conns {
			_ = c.Close()
		}
	})
	defer func() {
		s.watch.Stop()
		s.cancel()
		<-closed
	}()
	serve(s)
}

// proxied serves a client that says where it wants to connect to.
func (s *session) proxied() {
	_ = s.client.SetReadDeadline(time.Now().Add(handshakeTime))
	first := make([]byte, 1)
	if _, err := io.ReadFull(s.client, first); err != nil {
		return
	}
	switch c := first[0]; {
	case c == socksVersion:
		s.socks()
	case 'A' <= c && c <= 'Z':
		s.http(c)
	default:
		s.proxy.report(Refused, "", "what was sent is neither HTTP nor SOCKS5")
	}
}

// toLoopback connects a client with the machine's loopback interface, by the name or the address
// that the list has.
func (s *session) toLoopback(port uint16) {
	t := target{host{name: "localhost"}, port}
	if !s.proxy.allows(t) {
		t.host = host{addr: loopback4}
	}
	if upstream, f := s.connect(s.ctx, t); f == nil {
		s.tunnel(nil, upstream)
	}
}

// onTime ends the session if it was idle for too long, and otherwise looks again when it can
// have been.
func (s *session) onTime() {
	if rest := s.idle.Load() + s.last.Load() - int64(time.Since(s.began)); rest > 0 {
		s.watch.Reset(time.Duration(rest))
	} else {
		s.cancel()
	}
}

// connect connects to t, for as long as the session lasts.
func (s *session) connect(ctx context.Context, t target) (net.Conn, *failure) {
	conn, f := s.proxy.connect(ctx, t)
	if f != nil {
		return nil, f
	}
	return s.watched(conn), nil
}

// watched makes conn a part of the session.
func (s *session) watched(conn net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	if s.ctx.Err() != nil {
		_ = conn.Close()
	}
	return &watchedConn{conn, s}
}

// watchedConn tells its session of each byte.
type watchedConn struct {
	net.Conn
	session *session
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.touch(n)
	return n, err
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.touch(n)
	return n, err
}

func (c *watchedConn) touch(n int) {
	if n > 0 {
		c.session.last.Store(int64(time.Since(c.session.began)))
	}
}

// CloseWrite says that nothing more is sent.
func (c *watchedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// tunnel copies both ways until both sides have sent everything, or one of them fails. The
// client has sent early already.
func (s *session) tunnel(early []byte, upstream net.Conn) {
	if len(early) > 0 {
		if _, err := upstream.Write(early); err != nil {
			return
		}
	}
	var up sync.WaitGroup
	up.Go(func() { s.copy(upstream, s.client) })
	s.copy(s.client, upstream)
	up.Wait()
}

// copy copies to the end of src and passes the end on. The other direction may take longer,
// but not forever: a client that has gone cannot be told from one that only listens.
func (s *session) copy(dst, src net.Conn) {
	_, err := io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, make([]byte, 16<<10))
	if err == nil {
		s.idle.Store(int64(halfOpenTime))
		s.watch.Reset(halfOpenTime)
		err = dst.(*watchedConn).CloseWrite()
	}
	if err != nil {
		s.cancel()
	}
}

// linger closes the client's connection so that what was last written to it arrives: a
// connection that is closed with unread bytes is reset.
func (s *session) linger() {
	_ = s.client.(*watchedConn).CloseWrite()
	_ = s.client.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	_, _ = io.CopyN(io.Discard, s.client, headerBytes)
}
