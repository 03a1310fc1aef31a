package link

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// Send implements wire.Carrier: it sends head and the slices in body, in as few packets as they fit
// in. It blocks while the other side does not read and its window is full.
//
// # Errors
//
// [Link.Err] of a link that has ended; [nats.ErrDisconnected] if there is no connection, which ends
// the link, and other errors of the connection.
func (l *Link) Send(head []byte, body [][]byte) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	pieces := append(append(l.pieces[:0], head), body...)
	l.pieces = pieces
	defer clear(pieces) // they can be large
	left := 0
	for _, p := range pieces {
		left += len(p)
	}
	for left > 0 {
		n := min(left, l.most)
		owed, err := l.reserve(n)
		if err != nil {
			return err
		}
		l.wmu.Lock()
		pieces, err = l.publish(0, owed, pieces, n)
		l.wmu.Unlock()
		if err != nil {
			l.end(err)
			return err
		}
		left -= n
	}
	return nil
}

// reserve waits until a packet with n bytes of data may be sent, and returns the credit that it
// takes along.
func (l *Link) reserve(n int) (owed int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && l.credit < n+packetCost {
		l.writable.Wait()
	}
	if l.err != nil {
		return 0, l.err
	}
	l.credit -= n + packetCost
	owed, l.owed = l.owed, 0
	l.unread -= owed
	return owed, nil
}

// signal sends a packet without data.
func (l *Link) signal(flags uint8) error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	_, err := l.publish(flags, 0, nil, 0)
	return err
}

// giveCredit tells the other side that bytes were read.
func (l *Link) giveCredit(bytes int) {
	l.wmu.Lock()
	_, err := l.publish(0, bytes, nil, 0)
	l.wmu.Unlock()
	if err != nil {
		l.end(err)
	}
}

// publish sends a packet with n bytes of pieces, and returns what is left of them. The caller holds
// l.wmu.
func (l *Link) publish(flags uint8, credit int, pieces [][]byte, n int) ([][]byte, error) {
	if l.out == nil { // there are no keys yet
		return nil, nil
	}
	// Without a connection the message would wait for the next one, and messages of the other side
	// may have been lost by then.
	if !l.nc.IsConnected() {
		return nil, nats.ErrDisconnected
	}
	b := packets.Get().(*[]byte) //nolint:forcetypeassert // nothing else is in there
	defer packets.Put(b)
	sealed, left, err := seal(l.out, (*b)[:0], flags, credit, pieces, n)
	if err != nil {
		return nil, err
	}
	*b = sealed
	l.unheard.Store(true)
	return left, l.nc.Publish(l.subject, sealed)
}

// packets has buffers for packets, which are large while links that carry little are many.
var packets = sync.Pool{New: func() any { return new([]byte) }}
