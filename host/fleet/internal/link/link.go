// Package link connects two hosts over NATS: a [Link] carries bytes in order, without loss, sealed,
// and with flow control, so that the protocol of internal/wire runs over it. Begin with [Dial] at
// the one host, and [ParseOpening] and [Accept] at the other.
//
// Every user of the server who may publish there can write to a link's subjects: messages that are
// not from the other host, or repeat one, are dropped. A lost message ends the link, as does a lost
// connection; nothing is sent twice.
package link

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flynn/noise"
	"github.com/nats-io/nats.go"
)

const (
	// window is how much may be sent that the other side has not read, in bytes: data, plus
	// packetCost for each packet.
	window = 4 << 20
	// packetCost is what a packet uses of the window in addition to its data, in bytes: about
	// its overhead in memory.
	packetCost = 512
	// maxPending and maxPendingBytes bound the messages that wait to be opened: more than one side
	// can send within the window, so that only strangers exceed it.
	maxPending      = 8 * window / packetCost
	maxPendingBytes = 4 * window
	// probeAfter is how long after messages were dropped the other side is asked for a packet.
	probeAfter = time.Second
)

var (
	errWindow = errors.New("the other host sends more than it may")
	errClosed = net.ErrClosed
)

// Link is one end of a connection between two hosts. It implements wire.Carrier. Send may be called
// concurrently, Read may not.
type Link struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	subject string        // to the other side
	started chan struct{} // closed when there are keys

	ready     bool // only receive uses it, in and discarded
	in        *noise.CipherState
	discarded int         // messages that the subscription had no room for
	probing   atomic.Bool // there will be a probe

	turn   sync.Mutex // held by Send
	pieces [][]byte   // of what Send sends, reused

	wmu  sync.Mutex // packets are published in the order of their numbers
	out  *noise.CipherState
	most int // bytes of data in a packet

	mu       sync.Mutex
	readable sync.Cond
	writable sync.Cond
	queue    [][]byte // data that came; of it, head packets and taken bytes of the next are read
	head     int
	taken    int
	pending  int  // bytes of it that are not read
	unread   int  // bytes of the window that the other side has used
	owed     int  // bytes that were read, and that the other side does not know of
	credit   int  // bytes that may be sent
	timedOut bool // the deadline of reading has passed
	timer    *time.Timer
	err      error // why the link has ended

	done    chan struct{}
	proven  chan struct{}
	epoch   time.Time    // what times are measured from, whatever happens to the clock
	heard   atomic.Int64 // nanoseconds from epoch
	unheard atomic.Bool  // nothing came after the last packet to the other side
	dropped atomic.Uint64
}

// Err returns why the link has ended: [io.EOF] if the other side closed it, [net.ErrClosed] if this
// one did. Nil: it has not ended.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Proven returns a channel that is closed when the other side has shown that it has the key of its
// instance. At the caller it is closed from the start.
func (l *Link) Proven() <-chan struct{} { return l.proven }

// Heard returns when the last packet of the other side came. Its difference to other times does not
// depend on the clock of the machine.
func (l *Link) Heard() time.Time { return l.epoch.Add(time.Duration(l.heard.Load())) }

// Unheard reports whether nothing came from the other side after the last packet to it, which may be lost
// then.
func (l *Link) Unheard() bool { return l.unheard.Load() }

// Probe asks the other side for a packet: [Link.Heard] is later then. If messages were lost on the
// way, in either direction, the link ends. Links do not probe of their own accord: an idle one sends
// nothing.
//
// # Errors
//
// Those of [Link.Send].
func (l *Link) Probe() error {
	if err := l.Err(); err != nil {
		return err
	}
	err := l.signal(flagProbe)
	if err != nil {
		l.end(err)
	}
	return err
}

// Dropped returns how many messages came that were not from the other side, or not for the first
// time.
func (l *Link) Dropped() uint64 { return l.dropped.Load() }

// Close ends the link. The other side reads [io.EOF] after what was sent. Pending Read and Send
// calls return [net.ErrClosed].
func (l *Link) Close() error {
	l.end(errClosed)
	return nil
}

// Fail ends the link with an error, as when the connection to the server is lost.
func (l *Link) Fail(err error) { l.end(err) }

// start starts a link with its keys; packets of either side have up to size bytes.
func (l *Link) start(out, in *noise.CipherState, size int) {
	l.wmu.Lock()
	l.out, l.in, l.most = out, in, size-overhead
	l.wmu.Unlock()
	l.heard.Store(int64(time.Since(l.epoch)))
	close(l.started)
}

// prove records that the other side has its key.
func (l *Link) prove() { close(l.proven) }

// end ends the link, unless it has ended.
func (l *Link) end(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	if errors.Is(err, errClosed) {
		l.queue, l.head, l.taken, l.pending = nil, 0, 0, 0
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.readable.Broadcast()
	l.writable.Broadcast()
	l.mu.Unlock()
	_ = l.sub.Unsubscribe() // fails only if the connection is closed, and nothing is left of it
	close(l.done)
	if !errors.Is(err, io.EOF) && l.signal(flagClose) != nil && !l.nc.IsClosed() {
		go l.closeLater()
	}
}

// closeLater tells the other side that the link has ended as soon as there is a connection again:
// the other side may have kept its own, and would wait for answers. It returns when the connection
// is closed at the latest.
func (l *Link) closeLater() {
	status := l.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer l.nc.RemoveStatusListener(status)
	for l.signal(flagClose) != nil && !l.nc.IsClosed() {
		<-status
	}
}

// receive takes a message of the link's subject.
func (l *Link) receive(m *nats.Msg) {
	if !l.ready {
		select {
		case <-l.started:
			l.ready = true
		case <-l.done:
			return
		}
	}
	p, err := open(l.in, m.Data, l.most+overhead)
	switch {
	case err == errForged: //nolint:errorlint // it is never wrapped
		l.dropped.Add(1)
	case err != nil:
		l.end(err)
	default:
		l.take(p)
	}
	// Strangers have filled the subscription. If a packet of the other side was discarded, the next
	// one shows it; if it was the last one, the answer to the probe does.
	if n, err := m.Sub.Dropped(); err == nil && n != l.discarded {
		l.discarded = n
		if l.probing.CompareAndSwap(false, true) {
			time.AfterFunc(probeAfter, func() {
				l.probing.Store(false)
				_ = l.Probe() // if it fails, the link has ended
			})
		}
	}
}

// take acts on a packet of the other side.
func (l *Link) take(p packet) {
	l.heard.Store(int64(time.Since(l.epoch)))
	l.unheard.Store(false)
	select {
	case <-l.proven:
	default:
		l.prove()
	}
	var err error
	l.mu.Lock()
	if l.credit += p.credit; l.credit > window {
		err = errBroken
	}
	if p.credit > 0 {
		l.writable.Signal()
	}
	if len(p.data) > 0 && l.err == nil {
		if l.unread += len(p.data) + packetCost; l.unread > window {
			err = errWindow
		}
		if l.head > len(l.queue)/2 { // of a queue that is never empty
			n := copy(l.queue, l.queue[l.head:])
			clear(l.queue[n:])
			l.queue, l.head = l.queue[:n], 0
		}
		l.queue = append(l.queue, p.data)
		l.pending += len(p.data)
		l.readable.Signal()
	}
	l.mu.Unlock()
	if err == nil && p.flags&flagProbe != 0 {
		err = l.signal(0)
	}
	switch {
	case err != nil:
		l.end(err)
	case p.flags&flagClose != 0:
		l.end(io.EOF)
	}
}
