package pluginrun

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// How much of a server's standard output is read: answers come on it, so a burst is as long as
// the longest message, and a server that answers as fast as it can is not held up. One that
// floods it takes a share of one processor.
const (
	stdioBurst = 32 << 20 // bytes
	stdioRate  = 16 << 20 // bytes a second
)

// What a server has not read of its standard input, in bytes, and how long a message waits
// when that is full. A server may be busy for long, and calls that wait for it end with their
// contexts; one that takes nothing for so long is ended.
const (
	maxUnread  = 32 << 20
	unreadTime = 30 * time.Second
)

// stdio is the standard input and output of a process as its [plugin.Connector] has them. Read and
// Write are each used by one goroutine at a time.
type stdio struct {
	pace *throttle
	in   *os.File // the host's ends
	out  *os.File

	drained  chan struct{} // closed when nothing more is read
	drain    sync.Once
	closed   chan struct{}
	closing  sync.Once
	wake     chan struct{} // has one when there is something to write
	room     chan struct{} // has one when something was written
	mu       sync.Mutex
	unread   []byte // to be written
	writeErr error
}

func newStdio(limit *outputLimit) *stdio {
	return &stdio{
		pace:    &throttle{limit: limit, bytes: bucket{rate: stdioRate, burst: stdioBurst}},
		drained: make(chan struct{}), closed: make(chan struct{}),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// open begins with the ends of the pipes, which belong to it from then on.
func (s *stdio) open(in, out *os.File) {
	s.in, s.out = in, out
	go s.write()
}

// Read implements [io.Reader].
func (s *stdio) Read(b []byte) (int, error) {
	n, err := s.out.Read(b)
	if err != nil { // also of a descendant that holds the pipe open when the process has ended
		s.drain.Do(func() { close(s.drained) })
		return n, io.EOF
	}
	s.pace.pass(n)
	return n, nil
}

var errUnread = errors.New("the server does not read its standard input")

// Write implements [io.Writer]. It does not wait for the server, unless that has left a lot
// unread: whoever calls can give up then, and this cannot.
func (s *stdio) Write(b []byte) (int, error) {
	var late <-chan time.Time
	for {
		if done, err := s.enqueue(b); err != nil {
			return 0, err
		} else if done {
			return len(b), nil
		}
		if late == nil {
			t := time.NewTimer(unreadTime)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-s.room:
		case <-s.closed:
		case <-late:
			return 0, errUnread
		}
	}
}

func (s *stdio) enqueue(b []byte) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(s.closed) {
		return false, io.ErrClosedPipe
	}
	if s.writeErr != nil {
		return false, s.writeErr
	}
	if len(s.unread) > 0 && len(s.unread)+len(b) > maxUnread {
		return false, nil
	}
	s.unread = append(s.unread, b...)
	notify(s.wake)
	return true, nil
}

// write writes what was enqueued, until it is closed.
func (s *stdio) write() {
	defer func() { _ = s.in.Close() }()
	var spare []byte
	for open := true; open; {
		select {
		case <-s.wake:
		case <-s.closed:
			open = false
		}
		s.mu.Lock()
		next := s.unread
		s.unread = spare[:0]
		s.mu.Unlock()
		if _, err := s.in.Write(next); err != nil {
			s.mu.Lock()
			s.writeErr = err
			s.mu.Unlock()
		}
		notify(s.room)
		if spare = next; cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close implements [io.Closer]: it closes the standard input, which asks a server to end, and
// reads no more.
func (s *stdio) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		if s.in != nil {
			_, _ = s.in.SetWriteDeadline(time.Now().Add(drainTime)), s.out.SetReadDeadline(time.Now())
		}
	})
	return nil
}

// end is called when the process has ended: what is in the pipe is read on for drainTime.
func (s *stdio) end() {
	late := time.AfterFunc(drainTime, func() { s.drain.Do(func() { close(s.drained) }) })
	<-s.drained
	late.Stop()
}
