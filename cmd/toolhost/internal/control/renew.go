package control

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lookPace is how often a daemon looks whether its socket is there: logind removes the directory at a
// logout, and a directory that is gone sends no notices.
const lookPace = 2 * time.Second

// renewal is a socket in place of one that was removed, or why there is none.
type renewal struct {
	net.Listener
	err error
}

// Keep makes the socket of a listener of [Claim.Listen] again when it was removed, until ctx ends, and
// calls made each time. If another daemon has taken its place, or it cannot be made, the listener ends with
// that error. Calls in progress go on.
func (c *Claim) Keep(ctx context.Context, ln net.Listener, made func()) {
	l, ok := ln.(*listener)
	if !ok {
		return
	}
	tick := time.NewTicker(lookPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.closed:
			return
		case <-tick.C:
		}
		if info, err := os.Lstat(c.path); err == nil && os.SameFile(info, c.socket) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if gone, ok := l.current().(*net.UnixListener); ok {
			gone.SetUnlinkOnClose(false) // what is there now is another's
			_ = gone.Close()
		}
		again, err := c.again()
		select {
		case l.next <- renewal{again, err}:
		case <-l.closed:
			if err == nil {
				_ = again.Close()
			}
			return
		}
		if err != nil {
			return
		}
		made()
	}
}

// again takes the lock again, if that was removed too, and opens the socket.
func (c *Claim) again() (net.Listener, error) {
	if there, _ := safefile.IsAt(lockPath(c.path), c.lock); !there {
		claim, err := Take(c.path, readHolder(c.lock))
		if err != nil {
			return nil, err
		}
		_ = c.lock.Close()
		c.lock = claim.lock
	}
	if err := c.clear(); err != nil {
		return nil, err
	}
	return c.open()
}

// current returns the socket that accepts connections now.
func (l *listener) current() net.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Listener
}

// renewed waits, with the socket closed, for the next one.
func (l *listener) renewed() error {
	select {
	case <-l.closed:
		return net.ErrClosed
	case r := <-l.next:
		if r.err != nil {
			return tool.Errorf(tool.CodeUnavailable, "it was removed, and cannot be made again: %w", r.err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Listener = r.Listener
		return nil
	}
}
