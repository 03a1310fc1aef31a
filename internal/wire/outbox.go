package wire

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
)

// outbox queues what one end has to send. The first goroutine that flushes while no
// other is writing writes for all, so that concurrent calls share a write. Small frames
// go first; large messages take turns, one chunk at a time.
type outbox struct {
	carrier    Carrier
	moreComing func() bool // reports whether more callers are about to queue; called before each write
	onError    func(error) // called for an error in one of the outbox's goroutines

	mu            sync.Mutex
	small         []byte               // complete frames
	spare         []byte               // the buffer that small is swapped with during a write
	body          [][]byte             // the slices that are written after the small frames
	whole         []*outgoing          // messages of one frame each
	chunked       []*outgoing          // messages with a chunk that may be sent, in turn
	waiting       map[uint32]*outgoing // the chunked messages, and those that wait for a window
	writing       bool                 // a goroutine is writing
	writes        uint64               // writes started
	callerWriting bool                 // a caller is writing, which must not wait for the receiver
	err           error                // why nothing can be sent any more
}

// outgoing is a message that is too long to be copied into the buffer of small frames.
type outgoing struct {
	kind   kind
	number uint32
	pieces [][]byte // not sent yet
	left   int      // bytes in pieces
	total  int
	window int            // bytes that the receiver still accepts
	sent   callctx.Sender // is told when all but the last piece of it is written; nil: no one is
}

const (
	// maxCopied is the size, in bytes, up to which a message is copied into the buffer
	// of small frames.
	maxCopied = 16 << 10
	// chunksBetween is how many writes of chunks there are before other goroutines read: a process with one processor
	// would read nothing as long as its host takes chunks.
	chunksBetween = 4
	// maxSpare bounds the buffer that is kept for later writes, in bytes.
	maxSpare = 256 << 10
)

// newOutbox returns an outbox that sends on a carrier. moreComing reports whether other
// callers are about to queue frames, which are worth waiting for.
func newOutbox(c Carrier, moreComing func() bool, onError func(error)) *outbox {
	return &outbox{carrier: c, moreComing: moreComing, onError: onError, waiting: map[uint32]*outgoing{}}
}

// control queues a small frame.
func (o *outbox) control(k kind, number uint32, payload []byte) {
	o.mu.Lock()
	o.small = appendHeader(o.small, frame{size: len(payload), kind: k, number: number})
	o.small = append(o.small, payload...)
	o.mu.Unlock()
}

// full reports whether so much is queued that optional frames should be dropped.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.small) > maxSpare
}

// grant queues a window frame, which lets the sender of a message send more bytes.
func (o *outbox) grant(number uint32, bytes int) {
	window := binary.LittleEndian.AppendUint32(nil, uint32(bytes)) //nolint:gosec // at most messageWindow
	o.control(kindWindow, number, window)
}

// message queues a message of at most maxFrame bytes, which encode appends: better no more than maxCopied.
func (o *outbox) message(k kind, number uint32, encode func([]byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	begin := len(o.small)
	o.small = encode(appendHeader(o.small, frame{kind: k, number: number}))
	binary.LittleEndian.PutUint32(o.small[begin:], uint32(len(o.small)-begin-headerSize)) //nolint:gosec // a length
}

// large queues a message of any size. The caller must not modify the pieces afterwards.
func (o *outbox) large(k kind, number uint32, sent callctx.Sender, size int, pieces ...[]byte) {
	m := &outgoing{kind: k, number: number, pieces: pieces, left: size, total: size, window: firstWindow, sent: sent}
	o.mu.Lock()
	defer o.mu.Unlock()
	if size <= maxFrame {
		o.whole = append(o.whole, m)
		return
	}
	o.waiting[number] = m
	o.chunked = append(o.chunked, m)
}

// granted records that the receiver accepts more bytes of a message, and reports whether
// flush can now send more.
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

// maxGrant bounds a window so that it cannot overflow. No message is longer.
const maxGrant = MaxMessage + maxFrame

// drop removes the rest of a large message from the queue. It reports whether there was
// anything left to send, and whether a part had been sent.
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

// frame removes the next frame of a message, with a payload of at most the given number
// of bytes. It appends the header and the first short pieces to head, and the rest to
// body.
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
		if len(body) == 0 && n <= maxCopied {
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

// flush writes what is queued, unless another goroutine is already writing and will
// write that too. It leaves chunked messages, which may take long, to a goroutine.
func (o *outbox) flush() error { return o.write(false, false) }

// flushSome is like flush, for a caller that must not wait for the receiver. It writes at
// most maxUnreadBytes, including those of others, and leaves the rest to a goroutine.
func (o *outbox) flushSome() error { return o.write(false, true) }

// flushAsync runs flush in a new goroutine, for callers that must not wait for the
// receiver: the reader, and any goroutine that holds a lock.
func (o *outbox) flushAsync() {
	go func() {
		if err := o.flush(); err != nil {
			o.onError(err)
		}
	}()
}

// callerWrites reports whether a caller is in a write, and the number of that write.
func (o *outbox) callerWrites() (write uint64, writes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes, o.callerWriting
}

func (o *outbox) write(chunks, some bool) error {
	most := math.MaxInt
	if some {
		most = maxUnreadBytes
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.err != nil {
		return o.err
	}
	o.writing = true
	defer func() { o.writing = false }()
	for len(o.small) > 0 || len(o.whole) > 0 || len(o.chunked) > 0 {
		if o.moreComing() {
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
		head, body, last := o.next(chunks)
		o.writes, o.callerWriting = o.writes+1, some
		o.mu.Unlock()
		if last != nil && last.sent != nil { // before the answer can come
			last.sent.NoteSent()
		}
		err := o.carrier.Send(head, body)
		o.mu.Lock()
		o.callerWriting = false
		clear(body)
		o.body = body[:0]
		if cap(head) <= maxSpare {
			o.spare = head[:0]
		}
		if err != nil {
			o.failLocked(err)
			return err
		}
		if chunks && o.writes%chunksBetween == 0 && len(o.chunked) > 0 {
			o.mu.Unlock()
			time.Sleep(time.Nanosecond) // runtime.Gosched would not look whether anything has arrived
			o.mu.Lock()
		}
	}
	return nil
}

// unchunked returns how many bytes the next write has at least, excluding chunks.
func (o *outbox) unchunked() int {
	n := len(o.small)
	if len(o.whole) > 0 {
		n += headerSize + o.whole[0].total
	}
	return n
}

// writeChunks writes everything that is queued, including chunks.
func (o *outbox) writeChunks() {
	if err := o.write(true, false); err != nil {
		o.onError(err)
	}
}

// next removes all small frames and one message or chunk from the queue, and returns the message that ends
// with it; nil: none does.
func (o *outbox) next(chunks bool) (head []byte, body [][]byte, last *outgoing) {
	head, body = o.small, o.body[:0]
	o.small, o.spare = o.spare, nil
	switch {
	case len(o.whole) > 0:
		m := o.whole[0]
		o.whole[0] = nil
		o.whole = o.whole[1:]
		head, body = m.frame(head, body, maxFrame)
		return head, body, m
	case len(o.chunked) == 0 || !chunks:
		return head, body, nil
	}
	m := o.chunked[0]
	o.chunked[0] = nil
	o.chunked = o.chunked[1:]
	head, body = m.frame(head, body, chunkSize)
	switch {
	case m.left == 0:
		delete(o.waiting, m.number)
		return head, body, m
	case m.ready():
		o.chunked = append(o.chunked, m)
	}
	return head, body, nil
}

// fail empties the queue and makes all later flushes return err.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *outbox) failLocked(err error) {
	if o.err == nil {
		o.err = err
	}
	o.small, o.whole, o.chunked = nil, nil, nil
	clear(o.waiting)
}
