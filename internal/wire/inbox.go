package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

// inbox reads frames and assembles the messages that arrive in chunks. Only the
// current reader may use it. An interrupted read loses nothing: the next reader
// continues where the last one stopped, even within a frame.
type inbox struct {
	source    source
	r         *bufio.Reader // of source
	pending   func() int    // bytes of the carrier that r would not wait for
	streak    int           // bytes of the frames since ready was false
	interrupt interruptible // nil: reading cannot be interrupted
	grant     func(number uint32, bytes int)

	inPayload bool   // a frame's header has been read, and its payload has not
	frame     frame  // the frame whose payload is being read
	dest      []byte // the part of the buffer that the rest of the payload is read into
	toDiscard int    // bytes of the payload that are left to discard

	messages  map[uint32]*message // being assembled
	discarded map[uint32]int      // bytes that the senders of discarded messages may still send
	budget    int                 // bytes that can still be reserved for messages
	queue     []*message          // messages that wait for budget
}

// message is a message that arrives in chunks.
type message struct {
	number   uint32
	buf      []byte // the bytes received so far
	total    int    // the full length
	window   int    // bytes that the sender may still send
	reserved int    // bytes of the budget
	ascii    int    // from where on buf is ASCII, as far as it was looked at
	seen     int    // which is so far
}

// source is a carrier of which a read may take less than there is room for.
type source struct {
	Carrier
	most int // bytes; 0: as many as there are
}

func (s *source) Read(b []byte) (int, error) {
	if s.most > 0 {
		b = b[:min(len(b), s.most)]
	}
	return s.Carrier.Read(b)
}

const (
	// readBuffer is the size of the buffer for headers and small frames.
	readBuffer = 16 << 10
	// readBetween is how much of it is filled at a time while large messages arrive: the part of a chunk that is read
	// into it is copied twice.
	readBetween = 2 << 10
	// smallBuffer is that of a carrier from which reading little costs little.
	smallBuffer = 2 << 10
	// messageWindow is how much of a message may be in transit, in bytes: just enough
	// to keep the sender busy.
	messageWindow = 1 << 20
	// assemblyBudget bounds the messages that one end assembles at a time, in bytes.
	// Further messages stop after their first window until others are complete.
	assemblyBudget = 2 * MaxMessage
)

func newInbox(c Carrier, grant func(uint32, int)) *inbox {
	buffer, pending := readBuffer, func() int { return 0 }
	if m, ok := c.(memoryCarrier); ok {
		buffer, pending = smallBuffer, m.Pending
	}
	in := &inbox{
		source: source{Carrier: c}, pending: pending, grant: grant,
		messages: map[uint32]*message{}, discarded: map[uint32]int{}, budget: assemblyBudget,
	}
	in.r = bufio.NewReaderSize(&in.source, buffer)
	in.interrupt, _ = c.(interruptible)
	return in
}

// next reads one frame. After the header it calls route, which chooses where the payload
// goes by calling readInto, assemble or discard, or neither to drop it; after the payload
// it calls handle.
func (in *inbox) next(route, handle func(frame) error) error {
	if !in.inPayload {
		if len(in.messages) > 0 {
			in.source.most = readBetween
		}
		f, length, err := readHeader(in.r.Peek)
		in.source.most = 0
		if err != nil {
			return err
		}
		_, _ = in.r.Discard(length) // cannot fail after Peek
		in.inPayload, in.frame, in.dest, in.toDiscard = true, f, nil, f.size
		in.streak += length + f.size
		if err := route(f); err != nil {
			return err
		}
	}
	for len(in.dest) > 0 {
		read := in.r.Read
		if len(in.dest) > readBetween && in.r.Buffered() == 0 {
			read = in.source.Read
		}
		n, err := read(in.dest)
		in.dest = in.dest[n:]
		if err != nil {
			return unexpectedEOF(err)
		}
	}
	for in.toDiscard > 0 {
		n, err := in.r.Discard(in.toDiscard)
		in.toDiscard -= n
		if err != nil {
			return unexpectedEOF(err)
		}
	}
	in.inPayload, in.dest = false, nil // an empty slice would keep a large message in memory
	return handle(in.frame)
}

// unexpectedEOF returns err, or io.ErrUnexpectedEOF in place of io.EOF, for a carrier
// that ended within a frame.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readInto reads the payload into b, which has the payload's size.
func (in *inbox) readInto(b []byte) { in.dest, in.toDiscard = b, 0 }

// ready reports whether the next frame has come completely, so that reading it does not block. What a carrier has in memory
// counts for a while only: others wait for their turn, or for what is to be sent.
func (in *inbox) ready() (is bool) {
	there := in.r.Buffered()
	if in.streak < readBuffer {
		there += in.pending()
	}
	defer func() {
		if !is {
			in.streak = 0
		}
	}()
	if in.inPayload {
		return there >= len(in.dest)+in.toDiscard
	}
	short := false
	f, length, err := readHeader(func(n int) ([]byte, error) {
		if n > there {
			short = true
			return nil, io.ErrShortBuffer
		}
		return in.r.Peek(n)
	})
	return !short && (err != nil || there >= length+f.size)
}

// interrupted reports whether err is an interruption and, if so, clears it.
func (in *inbox) interrupted(err error) bool {
	if err == nil || in.interrupt == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	_ = in.interrupt.SetReadDeadline(time.Time{})
	return true
}

// errTooLarge reports that a message's announced length exceeds MaxMessage.
var errTooLarge = errors.New("the message is too large")

// assemble reads the payload into the message that it belongs to, which it opens if the
// payload is the first part.
//
// # Errors
//
// assemble returns [ErrProtocol], or [errTooLarge], after which the payload is dropped.
func (in *inbox) assemble(f frame) error {
	m, first := in.messages[f.number], f.flags&flagFirst != 0
	switch {
	case m == nil && !first:
		return protocolError("a chunk without a first chunk (number %d)", f.number)
	case m != nil && first:
		return protocolError("a message that starts within another (number %d)", f.number)
	case first && f.total > MaxMessage:
		return errTooLarge
	case first:
		m = in.open(f.number, int(f.total)) //nolint:gosec // checked above
	}
	have := len(m.buf)
	switch {
	case f.size > m.window:
		return protocolError("a chunk of %d bytes in a window of %d", f.size, m.window)
	case have+f.size > m.total, f.kind != kindChunk && have+f.size < m.total:
		return protocolError("a message of %d bytes that was announced with %d", have+f.size, m.total)
	}
	if have+f.size > cap(m.buf) { // allocate only once the sender uses its window
		m.buf = grow(m.buf, m.total)
	}
	m.window -= f.size
	m.buf = m.buf[:have+f.size]
	in.readInto(m.buf[have:])
	return nil
}

// grow returns b with capacity for n bytes. The new memory is not zeroed: zeroing 8 MiB
// takes a millisecond in which all calls wait for the reader, and each byte is written
// before it is read. Only strings.Builder provides such memory.
func grow(b []byte, n int) []byte {
	var room strings.Builder
	room.Grow(n)
	room.Write(b)
	return unsafe.Slice(unsafe.StringData(room.String()), n)[:len(b)]
}

// discard drops the payload, which is a part of a message that the caller no longer
// waits for. Before it learns of that, the sender may use up its window.
//
// # Errors
//
// discard returns [ErrProtocol] if the sender exceeds its window.
func (in *inbox) discard(f frame) error {
	left, known := in.discarded[f.number]
	if m := in.messages[f.number]; m != nil {
		left, known = m.window, true
		in.close(f.number)
	}
	if !known {
		if f.kind != kindChunk {
			return nil // it is a whole message
		}
		left = firstWindow
	}
	if left -= f.size; left < 0 && f.kind == kindChunk {
		return protocolError("a canceled message that continues (number %d)", f.number)
	}
	in.discarded[f.number] = left
	return nil
}

// consumed lets the sender continue after a part of a message has arrived.
func (in *inbox) consumed(number uint32) {
	if m := in.messages[number]; m != nil {
		in.widenWindow(m)
	}
}

// open starts the assembly of a message.
func (in *inbox) open(number uint32, total int) *message {
	m := &message{number: number, total: total, window: firstWindow, buf: make([]byte, 0, min(total, firstWindow))}
	in.messages[number] = m
	if total > firstWindow {
		in.queue = append(in.queue, m)
		in.admit()
	}
	return m
}

// look notes where the last byte is that is not ASCII, of what has arrived since: while a large text arrives, the sender
// works too, and what was read last is at hand. When it is complete, all other work of this end would wait meanwhile.
func (m *message) look() {
	if i := lastBeyondASCII(m.buf[m.seen:]); i >= 0 {
		m.ascii = m.seen + i + 1
	}
	m.seen = len(m.buf)
}

// lastBeyondASCII returns where the last byte of b is that is not ASCII; -1: nowhere.
func lastBeyondASCII(b []byte) int {
	const step, high = 32, 0x8080808080808080
	for n := len(b); n >= step; n -= step {
		p := b[n-step : n]
		if (binary.NativeEndian.Uint64(p)|binary.NativeEndian.Uint64(p[8:])|
			binary.NativeEndian.Uint64(p[16:])|binary.NativeEndian.Uint64(p[24:]))&high != 0 {
			break
		}
		b = b[:n-step]
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] >= utf8.RuneSelf {
			return i
		}
	}
	return -1
}

// close ends the assembly of a message, complete or not, frees its share of the budget
// and returns the bytes received, or nil if there is no such message.
func (in *inbox) close(number uint32) []byte {
	m := in.messages[number]
	if m == nil {
		return nil
	}
	delete(in.messages, number)
	in.budget += m.reserved
	in.queue = slices.DeleteFunc(in.queue, func(waiting *message) bool { return waiting == m })
	in.admit()
	return m.buf
}

// admit reserves budget for the queued messages that fit, in the order in which they
// started.
func (in *inbox) admit() {
	for len(in.queue) > 0 && in.queue[0].total <= in.budget {
		m := in.queue[0]
		in.queue = slices.Delete(in.queue, 0, 1) // Delete also clears the pointer to a message that may be large
		m.reserved = m.total
		in.budget -= m.reserved
		in.widenWindow(m)
	}
}

// widenWindow lets the sender of an admitted message send more.
func (in *inbox) widenWindow(m *message) {
	more := min(messageWindow, m.total-len(m.buf)) - m.window
	if m.reserved > 0 && more > 0 && m.window <= messageWindow/2 {
		m.window += more
		in.grant(m.number, more)
	}
}
