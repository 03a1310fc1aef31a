//go:build linux || darwin || freebsd

package control

import (
	"fmt"
	"net"
	"os"
	"sync"
)

// listener accepts connections of its own user and of root.
type listener struct {
	net.Listener
	slots   chan struct{} // one for each open connection
	once    sync.Once
	closed  chan struct{}
	refused func(error) // is told of connections that are not accepted
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
		conn, err := l.Listener.Accept()
		if err == nil {
			if err = l.welcome(conn); err == nil {
				return &slotted{Conn: conn, leave: sync.OnceFunc(func() { <-l.slots })}, nil
			}
			_ = conn.Close()
			l.refused(err)
			err = nil
		}
		<-l.slots
		if err != nil {
			return nil, err
		}
	}
}

// welcome says why somebody may not speak; nil: it may.
func (l *listener) welcome(conn net.Conn) error {
	uid, err := peerUID(conn)
	if err != nil {
		return fmt.Errorf("it is not known who connected: %w", err)
	}
	if uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("user %d connected, and only user %d and root may", uid, os.Geteuid())
	}
	return nil
}

// Close implements [net.Listener], and lets go of an Accept that waits for a slot.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slotted is a connection that takes up a slot until it is closed.
type slotted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *slotted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite lets the server say no to a request that it does not read to its end: without
// it the client finds the connection closed before it has read the answer.
func (c *slotted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
