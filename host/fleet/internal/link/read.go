package link

import (
	"os"
	"time"
)

// Read implements wire.Carrier. It returns what came, of one packet or several, and waits only if
// there is nothing.
//
// # Errors
//
// [Link.Err] when the link has ended and everything is read; [os.ErrDeadlineExceeded].
func (l *Link) Read(b []byte) (int, error) {
	l.mu.Lock()
	if err := l.awaitData(len(b)); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	n := 0
	for n < len(b) && l.head < len(l.queue) {
		data := l.queue[l.head][l.taken:]
		c := copy(b[n:], data)
		n += c
		if c < len(data) {
			l.taken += c
			break
		}
		l.owed += len(l.queue[l.head]) + packetCost
		l.queue[l.head], l.taken = nil, 0
		l.head++
	}
	if l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
	}
	give := 0
	if l.owed >= window/2 && l.err == nil {
		give, l.owed = l.owed, 0
		l.unread -= give
	}
	l.pending -= n
	l.mu.Unlock()
	if give > 0 {
		l.giveCredit(give)
	}
	return n, nil
}

// awaitData waits until there is data, or want is 0. The caller holds l.mu.
func (l *Link) awaitData(want int) error {
	for {
		switch {
		case l.timedOut:
			return os.ErrDeadlineExceeded
		case len(l.queue) > l.head || want == 0:
			return nil
		case l.err != nil:
			return l.err
		}
		l.readable.Wait()
	}
}

// SetReadDeadline makes Read calls, also one that waits, return [os.ErrDeadlineExceeded] from t on.
// Zero: they wait as long as it takes.
func (l *Link) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	wait := time.Until(t)
	l.timedOut = !t.IsZero() && wait <= 0
	switch {
	case l.timedOut:
		l.readable.Broadcast()
	case !t.IsZero() && l.err == nil:
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.timer == timer {
				l.timedOut = true
				l.readable.Broadcast()
			}
		})
		l.timer = timer
	}
	return nil
}

// Pending returns how many bytes there are that Read need not wait for.
func (l *Link) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending
}
