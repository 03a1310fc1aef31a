package control

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// listener accepts connections of the users who are admitted. When it is full, it closes a
// connection on whose client the daemon waits, so that clients that do not speak, do not finish
// or do not read cannot keep others out.
type listener struct {
	net.Listener                // replaced under mu
	most         int            // connections at a time
	ofPeer       int            // of one process
	admits       func(int) bool // users
	refused      func(error)    // called for connections that are not accepted

	mu     sync.Mutex
	open   map[*connection]bool
	change chan struct{} // has a token after a connection was closed
	once   sync.Once
	closed chan struct{}
	next   chan renewal // what takes the place of a socket that was removed
}

func newListener(ln net.Listener, most int, admits func(uid int) bool, refused func(error)) *listener {
	return &listener{
		Listener: ln, most: most, ofPeer: most * 3 / 4, admits: admits, refused: refused,
		open: map[*connection]bool{}, change: make(chan struct{}, 1), closed: make(chan struct{}), next: make(chan renewal),
	}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.current().Accept()
		if errors.Is(err, net.ErrClosed) {
			if err = l.renewed(); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		c, err := l.identify(conn)
		if err == nil {
			err = l.admit(c)
		}
		if err == nil {
			return c, nil
		}
		_ = conn.Close()
		select {
		case <-l.closed:
			return nil, net.ErrClosed
		default:
			l.refused(err)
		}
	}
}

// identify finds out who connected.
func (l *listener) identify(conn net.Conn) (*connection, error) {
	who, err := peerAt(conn)
	if err != nil {
		return nil, fmt.Errorf("the peer is not known: %w", err)
	}
	if !l.admits(who.uid) {
		return nil, fmt.Errorf("user %d connected, and is not a caller of this daemon", who.uid)
	}
	c := &connection{Conn: conn, peer: who}
	c.owes(true)
	c.leave = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.open, c)
		l.mu.Unlock()
		select {
		case l.change <- struct{}{}:
		default:
		}
	})
	return c, nil
}

// admit waits for room, which clients that keep the daemon waiting have to make.
func (l *listener) admit(c *connection) error {
	for {
		in, victim, wait, err := l.room(c)
		if in || err != nil {
			return err
		}
		if victim != nil {
			_ = victim.Close()
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-l.change:
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			return net.ErrClosed
		}
		timer.Stop()
	}
}

// room adds a connection, or returns which other connection to close, or how long to wait for
// room. It refuses a process that has all the connections it may have and keeps the daemon
// waiting on none of them.
func (l *listener) room(c *connection) (in bool, victim *connection, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := map[int]int{}
	for other := range l.open {
		of[other.peer.pid]++
	}
	full := len(l.open) >= l.most
	own := c.peer.pid != 0 && of[c.peer.pid] >= l.ofPeer
	if !full && !own {
		l.open[c] = true
		return true, nil, 0, nil
	}
	// The victim is of the process with most connections, and the most overdue of those.
	now, longest := time.Now(), time.Duration(-1)
	for other := range l.open {
		late := other.overdue(now)
		if late < 0 || own && other.peer.pid != c.peer.pid {
			continue
		}
		if victim == nil || of[other.peer.pid] > of[victim.peer.pid] || of[other.peer.pid] == of[victim.peer.pid] && late > longest {
			victim, longest = other, late
		}
	}
	switch {
	case victim == nil && own:
		return false, nil, 0, fmt.Errorf("%s has %d connections", c.peer, of[c.peer.pid])
	case victim != nil && longest >= patience:
		return false, victim, 0, nil
	}
	return false, nil, max(time.Millisecond, patience-max(0, longest)), nil
}

// Close implements [net.Listener], and ends an Accept that waits for room.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.current().Close()
}
