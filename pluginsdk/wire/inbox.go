package wire

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// inbox reads frames, and puts together the messages that come in chunks. Only
// whoever reads uses it. An interruption loses nothing, wherever it comes: the
// next reader goes on where the last one stopped.
type inbox struct {
	r         *bufio.Reader
	interrupt interruptible // nil: reading cannot be interrupted
	grant     func(number uint32, bytes int)

	within bool   // a frame's header was read, and its payload was not
	frame  frame  // which
	to     []byte // where the rest of the payload goes
	skip   int    // how much of it goes nowhere

	messages map[uint32]*message
	wasted   map[uint32]int // how much may still come of messages that nobody wants
	budget   int            // what messages may still be promised together
	queue    []*message     // those that wait for others to end
}

// message is one that comes in chunks.
type message struct {
	number uint32
	buf    []byte // what has come
	total  int    // what it will be
	window int    // how much more its sender may send now
	held   int    // of the budget
}

const (
	// readBuffer holds the headers and small frames that come together. It is small,
	// as what of a chunk is read with the header before it is copied twice.
	readBuffer = 16 << 10
	// takenAhead is how much of a message may be under way, in bytes: enough to
	// keep its sender busy, and no more.
	takenAhead = 1 << 20
	// assembling bounds the messages that one end puts together at a time, in
	// bytes. Beyond it they wait for each other, each behind its first window.
	assembling = 2 * MaxMessage
)

func newInbox(c Carrier, grant func(uint32, int)) *inbox {
	in := &inbox{r: bufio.NewReaderSize(c, readBuffer), grant: grant, messages: map[uint32]*message{}, wasted: map[uint32]int{}, budget: assembling}
	in.interrupt, _ = c.(interruptible)
	return in
}

// next reads one frame. When its header is there, begin says by calling into,
// part or drop where the payload goes; when that is there too, end says what it
// means.
func (in *inbox) next(begin, end func(frame) error) error {
	if !in.within {
		f, length, err := readHeader(in.r.Peek)
		if err != nil {
			return err
		}
		_, _ = in.r.Discard(length) // it was peeked at
		in.within, in.frame, in.to, in.skip = true, f, nil, f.size
		if err := begin(f); err != nil {
			return err
		}
	}
	for len(in.to) > 0 {
		n, err := in.r.Read(in.to)
		in.to = in.to[n:]
		if err != nil {
			return midway(err)
		}
	}
	for in.skip > 0 {
		n, err := in.r.Discard(in.skip)
		in.skip -= n
		if err != nil {
			return midway(err)
		}
	}
	in.within, in.to = false, nil // an empty slice would keep a large message in memory
	return end(in.frame)
}

// midway is err for a carrier that ended within a frame.
func midway(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// into lets the payload go to b, which has its size.
func (in *inbox) into(b []byte) { in.to, in.skip = b, 0 }

// ready reports whether the next frame has come whole, so that reading it does
// not wait.
func (in *inbox) ready() bool {
	if in.within {
		return in.r.Buffered() >= len(in.to)+in.skip
	}
	short := false
	f, length, err := readHeader(func(n int) ([]byte, error) {
		if n > in.r.Buffered() {
			short = true
			return nil, io.ErrShortBuffer
		}
		return in.r.Peek(n)
	})
	return !short && (err != nil || in.r.Buffered() >= length+f.size)
}

// interrupted reports whether err is an interruption, and ends it.
func (in *inbox) interrupted(err error) bool {
	if err == nil || in.interrupt == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	_ = in.interrupt.SetReadDeadline(time.Time{})
	return true
}

// errTooLarge says that a message is announced to be longer than MaxMessage.
var errTooLarge = errors.New("the message is too large")

// part lets the payload go to the message that it is a part of, and opens that
// where it is the first.
//
// # Errors
//
// [ErrProtocol]; [errTooLarge], and the payload is dropped.
func (in *inbox) part(f frame) error {
	m, first := in.messages[f.number], f.flags&flagFirst != 0
	switch {
	case m == nil && !first:
		return protocolError("a chunk with none before it (number %d)", f.number)
	case m != nil && first:
		return protocolError("a message within another (number %d)", f.number)
	case first && f.total > MaxMessage:
		return errTooLarge
	case first:
		m = in.open(f.number, int(f.total)) //nolint:gosec // checked above
	}
	have := len(m.buf)
	switch {
	case f.size > m.window:
		return protocolError("a chunk of %d bytes where %d are taken", f.size, m.window)
	case have+f.size > m.total, f.kind != kindChunk && have+f.size < m.total:
		return protocolError("a message of %d bytes that was to have %d", have+f.size, m.total)
	}
	if have+f.size > cap(m.buf) { // it is more than a promise now
		m.buf = extend(m.buf, m.total)
	}
	m.window -= f.size
	m.buf = m.buf[:have+f.size]
	in.into(m.buf[have:])
	return nil
}

// extend is b with room for n bytes, which nobody has cleared: the reader would
// spend a millisecond on 8 MiB while all calls wait for it, and each byte is
// written before it is looked at. A builder is the only thing that gives such
// memory.
func extend(b []byte, n int) []byte {
	var room strings.Builder
	room.Grow(n)
	room.Write(b)
	return unsafe.Slice(unsafe.StringData(room.String()), n)[:len(b)]
}

// waste drops the payload, a part of a message that nobody wants any more. Its
// sender is told so, and may have sent what it had room for by then.
//
// # Errors
//
// [ErrProtocol] for more than that.
func (in *inbox) waste(f frame) error {
	left, known := in.wasted[f.number]
	if m := in.messages[f.number]; m != nil {
		left, known = m.window, true
		in.close(f.number)
	}
	if !known {
		if f.kind != kindChunk {
			return nil // it came whole
		}
		left = firstWindow
	}
	if left -= f.size; left < 0 && f.kind == kindChunk {
		return protocolError("a message goes on that was cancelled (number %d)", f.number)
	}
	in.wasted[f.number] = left
	return nil
}

// taken lets more of a message come, after a part of it has.
func (in *inbox) taken(number uint32) {
	if m := in.messages[number]; m != nil {
		in.take(m)
	}
}

// open begins a message.
func (in *inbox) open(number uint32, total int) *message {
	m := &message{number: number, total: total, window: firstWindow, buf: make([]byte, 0, min(total, firstWindow))}
	in.messages[number] = m
	if total > firstWindow {
		in.queue = append(in.queue, m)
		in.promise()
	}
	return m
}

// close ends a message, whole or not, gives its room to others, and returns what
// has come; nil: there is no such message.
func (in *inbox) close(number uint32) []byte {
	m := in.messages[number]
	if m == nil {
		return nil
	}
	delete(in.messages, number)
	in.budget += m.held
	in.queue = slices.DeleteFunc(in.queue, func(waiting *message) bool { return waiting == m })
	in.promise()
	return m.buf
}

// promise lets messages come for which there is room, in the order in which they
// began.
func (in *inbox) promise() {
	for len(in.queue) > 0 && in.queue[0].total <= in.budget {
		m := in.queue[0]
		in.queue = slices.Delete(in.queue, 0, 1) // which forgets it: it may be large
		m.held = m.total
		in.budget -= m.held
		in.take(m)
	}
}

// take widens the window of a message that has room.
func (in *inbox) take(m *message) {
	more := min(takenAhead, m.total-len(m.buf)) - m.window
	if m.held > 0 && more > 0 && m.window <= takenAhead/2 {
		m.window += more
		in.grant(m.number, more)
	}
}
