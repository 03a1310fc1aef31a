package wire

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
)

// outbox is what one end still has to send. Whoever finds nobody writing writes
// for all, so that calls that come together share a write. Small frames go first;
// of the large messages each gets a chunk in turn.
type outbox struct {
	carrier Carrier
	crowded func() bool // whether others are about to queue; asked before each write
	broken  func(error) // told of an error that a goroutine of the outbox's own met

	mu      sync.Mutex
	small   []byte               // whole frames
	spare   []byte               // small's twin, while it is being written
	body    [][]byte             // what is being written behind it
	whole   []*outgoing          // messages for a frame each
	chunked []*outgoing          // messages of which a chunk may go, in turns
	waiting map[uint32]*outgoing // these, and those that have to wait for a window
	active  bool                 // somebody writes
	sends   uint64               // writes begun
	caller  bool                 // who writes must not wait for the receiver
	err     error                // why nobody will
}

// outgoing is a message that goes by itself: too long to be copied, or for one
// frame.
type outgoing struct {
	kind   kind
	number uint32
	pieces [][]byte // not sent yet
	left   int      // how many bytes these are
	total  int
	window int // how much more of it the receiver takes
}

const (
	// copied is up to which size a message is copied beside others.
	copied = 16 << 10
	// keep bounds the buffer that stays for later writes.
	keep = 256 << 10
)

// newOutbox sends on a carrier. Crowded says whether others are about to queue
// frames too, which are worth waiting for.
func newOutbox(c Carrier, crowded func() bool, broken func(error)) *outbox {
	return &outbox{carrier: c, crowded: crowded, broken: broken, waiting: map[uint32]*outgoing{}}
}

// control queues a small frame.
func (o *outbox) control(k kind, number uint32, payload []byte) {
	o.mu.Lock()
	o.small = appendHeader(o.small, frame{size: len(payload), kind: k, number: number})
	o.small = append(o.small, payload...)
	o.mu.Unlock()
}

// full reports whether so much waits that what can be lost should be.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.small) > keep
}

// grant queues a window frame: so many more bytes of a message are taken.
func (o *outbox) grant(number uint32, bytes int) {
	o.control(kindWindow, number, binary.LittleEndian.AppendUint32(nil, uint32(bytes))) //nolint:gosec // at most takenAhead
}

// message queues a message of up to copied bytes, which encode appends.
func (o *outbox) message(k kind, number uint32, size int, encode func([]byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.small = appendHeader(o.small, frame{size: size, kind: k, number: number})
	o.small = encode(o.small)
}

// large queues a message of any size, in pieces that nobody changes any more.
func (o *outbox) large(k kind, number uint32, size int, pieces ...[]byte) {
	m := &outgoing{kind: k, number: number, pieces: pieces, left: size, total: size, window: firstWindow}
	o.mu.Lock()
	defer o.mu.Unlock()
	if size <= maxFrame {
		o.whole = append(o.whole, m)
		return
	}
	o.waiting[number] = m
	o.chunked = append(o.chunked, m)
}

// granted says that the receiver takes more of a message, and reports whether
// that lets flush send more.
func (o *outbox) granted(number uint32, bytes int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.waiting[number]
	if m == nil {
		return false
	}
	stalled := !m.ready()
	m.window = min(m.window+bytes, maxGrant)
	if !stalled || !m.ready() {
		return false
	}
	o.chunked = append(o.chunked, m)
	return true
}

// maxGrant keeps a window from overflowing; no message is longer.
const maxGrant = MaxMessage + maxFrame

// drop forgets what is left to send of a large message. It reports whether there
// was something, and whether a part of it has gone.
func (o *outbox) drop(number uint32) (found, begun bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := func(m *outgoing) bool { return m.number == number }
	if i := slices.IndexFunc(o.whole, of); i >= 0 {
		o.whole = slices.Delete(o.whole, i, i+1)
		return true, false
	}
	m := o.waiting[number]
	if m == nil {
		return false, false
	}
	delete(o.waiting, number)
	o.chunked = slices.DeleteFunc(o.chunked, of)
	return true, m.left < m.total
}

// ready reports whether the next chunk fits the receiver's window.
func (m *outgoing) ready() bool { return m.window >= min(chunkSize, m.left) }

// frame takes the next frame of a message, with a payload of at most so many
// bytes. What is short at its beginning is appended to head, after the header;
// the rest follows in body.
func (m *outgoing) frame(head []byte, body [][]byte, most int) (_ []byte, _ [][]byte) {
	f := frame{kind: kindChunk, number: m.number, size: min(m.left, most)}
	if m.left == m.total && m.total > maxFrame {
		f.flags, f.total = flagFirst, uint64(m.total) //nolint:gosec // a length
	}
	if f.size == m.left {
		f.kind = m.kind
	}
	head = appendHeader(head, f)
	m.left -= f.size
	m.window -= f.size
	for size := f.size; size > 0; {
		p := m.pieces[0]
		n := min(len(p), size)
		if len(body) == 0 && n <= copied {
			head = append(head, p[:n]...)
		} else {
			body = append(body, p[:n])
		}
		size -= n
		if m.pieces[0] = p[n:]; n == len(p) {
			m.pieces = m.pieces[1:]
		}
	}
	return head, body
}

// flush writes what is queued, unless somebody is writing already, who will write
// that too. Messages that go in chunks it leaves to a goroutine: they may take
// long.
func (o *outbox) flush() error { return o.write(false, false) }

// flushSome is flush for a caller, who must not wait for the receiver. Once it
// would be more than unread bytes, others' included, it leaves them to a goroutine.
func (o *outbox) flushSome() error { return o.write(false, true) }

// flushAsync is flush in a goroutine of its own, for those that must not wait for the
// receiver: who reads, and whoever holds a lock.
func (o *outbox) flushAsync() {
	go func() {
		if err := o.flush(); err != nil {
			o.broken(err)
		}
	}()
}

// callerWrites reports whether a caller is in a write now, and in which.
func (o *outbox) callerWrites() (write uint64, writes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sends, o.caller
}

func (o *outbox) write(chunks, some bool) error {
	most := math.MaxInt
	if some {
		most = unread
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active || o.err != nil {
		return o.err
	}
	o.active = true
	defer func() { o.active = false }()
	for len(o.small) > 0 || len(o.whole) > 0 || len(o.chunked) > 0 {
		if o.crowded() {
			o.mu.Unlock()
			runtime.Gosched()
			o.mu.Lock()
		}
		size := o.unchunked()
		if !chunks && (size == 0 || size > most) {
			go o.writeChunks()
			return nil
		}
		most -= size
		head, body := o.next(chunks)
		o.sends, o.caller = o.sends+1, some
		o.mu.Unlock()
		err := o.carrier.Send(head, body)
		o.mu.Lock()
		o.caller = false
		clear(body)
		o.body = body[:0]
		if cap(head) <= keep {
			o.spare = head[:0]
		}
		if err != nil {
			o.end(err)
			return err
		}
	}
	return nil
}

// unchunked is how many bytes the next write has at least, chunks aside.
func (o *outbox) unchunked() int {
	n := len(o.small)
	if len(o.whole) > 0 {
		n += headerSize + o.whole[0].total
	}
	return n
}

// writeChunks writes all that is queued.
func (o *outbox) writeChunks() {
	if err := o.write(true, false); err != nil {
		o.broken(err)
	}
}

// next takes all small frames, and one message or chunk.
func (o *outbox) next(chunks bool) (head []byte, body [][]byte) {
	head, body = o.small, o.body[:0]
	o.small, o.spare = o.spare, nil
	switch {
	case len(o.whole) > 0:
		m := o.whole[0]
		o.whole[0] = nil
		o.whole = o.whole[1:]
		return m.frame(head, body, maxFrame)
	case len(o.chunked) == 0 || !chunks:
		return head, body
	}
	m := o.chunked[0]
	o.chunked[0] = nil
	o.chunked = o.chunked[1:]
	head, body = m.frame(head, body, chunkSize)
	switch {
	case m.left == 0:
		delete(o.waiting, m.number)
	case m.ready():
		o.chunked = append(o.chunked, m)
	}
	return head, body
}

// fail lets nothing be sent any more.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(err)
}

func (o *outbox) end(err error) {
	if o.err == nil {
		o.err = err
	}
	o.small, o.whole, o.chunked = nil, nil, nil
	clear(o.waiting)
}
