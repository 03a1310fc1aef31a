package link

import (
	"errors"
	"strings"
)

// The sizes that tests count with.
const (
	Window     = window
	PacketCost = packetCost
	Overhead   = overhead
	MaxPacket  = maxPacket
)

// ID returns the link's ID, the same at both ends.
func (l *Link) ID() string { return strings.Split(l.subject, ".")[3] }

// Done returns a channel that is closed when the link has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Skip makes the next packet of the link look as if one before it was lost.
func (l *Link) Skip() {
	l.wmu.Lock()
	l.out.SetNonce(l.out.Nonce() + 1)
	l.wmu.Unlock()
}

// Unread returns how many bytes of the window came and are not read, by either count.
func (l *Link) Unread() (counted, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, data := range l.queue[l.head:] {
		held += len(data) + packetCost
	}
	return l.unread, held
}

// Overrun lets the link send more than the other side allows.
func (l *Link) Overrun() {
	l.mu.Lock()
	l.credit += window
	l.mu.Unlock()
}

// Overcredit gives the other side credit for what it never sent.
func (l *Link) Overcredit() { l.giveCredit(window) }

// Flag sends a packet with flags.
func (l *Link) Flag(flags uint8) error { return l.signal(flags) }

// Lost reports whether err says that messages were lost.
func Lost(err error) bool { return errors.Is(err, errLost) }

// Cramp leaves the subscription room for one message, or again for as many as it had.
func (l *Link) Cramp(on bool) error {
	if on {
		return l.sub.SetPendingLimits(1, maxPendingBytes)
	}
	return l.sub.SetPendingLimits(maxPending, maxPendingBytes)
}
