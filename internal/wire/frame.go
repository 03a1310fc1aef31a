package wire

import "encoding/binary"

// frame is the header of a frame. A stream is a sequence of frames, each with a header
// of 12 bytes and a payload.
//
//	size    uint32  of the payload, in bytes; at most maxFrame
//	kind    uint8
//	flags   uint8
//	        uint16  0; receivers ignore it
//	number  uint32  of the call; 0: the stream itself
//
// Integers are little-endian. A receiver skips frames of a kind that it does not know.
// The first chunk of a message, with flagFirst, has a longer header:
//
//	total   uint64  the message's length, in bytes
type frame struct {
	size   int
	kind   kind
	flags  uint8
	number uint32
	total  uint64
}

const (
	headerSize      = 12
	firstHeaderSize = headerSize + 8
)

// kind is the kind of a frame. The numbers are part of the protocol.
type kind uint8

const (
	kindCall     kind = 1  // host: an ExecuteRequest, or its last part
	kindResult   kind = 2  // plugin: an ExecuteResponse, or its last part; each call gets exactly one
	kindChunk    kind = 3  // either: a part of a message that is longer than a frame
	kindWindow   kind = 4  // either: how many more bytes of the message the sender may send, a uint32
	kindProgress kind = 5  // plugin: a Progress
	kindCancel   kind = 6  // host: the caller no longer waits for the call; its result may be short
	kindAsk      kind = 7  // plugin: a Question of a call
	kindChanged  kind = 8  // plugin: its tools have changed; no payload
	kindLog      kind = 9  // plugin: a LogRecord
	kindAnswer   kind = 10 // host: the Answer to a Question
	kindDelta    kind = 11 // plugin: a Delta of a call
	kindMore     kind = 12 // host: how many more bytes of a call's deltas the plugin may send, a uint32
	kindEnded    kind = 13 // host: a SessionEnded
	kindWaits    kind = 14 // host that serves another: a call waits for a person (1) or goes on (0), a byte
)

// flagFirst marks the first chunk of a message.
const flagFirst = 1

// The sizes of the protocol, in bytes. Messages up to maxFrame are sent in one frame,
// so that most results take only one. Larger messages are sent in smaller chunks, so
// that an urgent frame never waits long for a chunk to be sent.
const (
	maxFrame  = 128 << 10
	chunkSize = 64 << 10
	// firstWindow is how much of a message the sender may send before it receives a
	// window frame.
	firstWindow = 256 << 10
	// deltaWindow is how much text of a call's deltas the plugin may send before it receives a frame
	// that allows more.
	deltaWindow = 64 << 10
)

// appendHeader appends the header of a frame.
func appendHeader(b []byte, f frame) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(f.size)) //nolint:gosec // at most maxFrame
	b = append(b, byte(f.kind), f.flags, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, f.number)
	if f.flags&flagFirst != 0 {
		b = binary.LittleEndian.AppendUint64(b, f.total)
	}
	return b
}

// readHeader decodes the header in the next bytes that peek returns, and reports its
// length. It consumes nothing. If peek fails, readHeader returns its error.
func readHeader(peek func(int) ([]byte, error)) (f frame, length int, err error) {
	b, err := peek(headerSize)
	if err != nil {
		return frame{}, 0, err
	}
	size := binary.LittleEndian.Uint32(b)
	if size > maxFrame {
		return frame{}, 0, protocolError("a frame of %d bytes, more than %d", size, maxFrame)
	}
	f = frame{size: int(size), kind: kind(b[4]), flags: b[5], number: binary.LittleEndian.Uint32(b[8:])}
	if f.flags&flagFirst == 0 {
		return f, headerSize, nil
	}
	if b, err = peek(firstHeaderSize); err != nil {
		return frame{}, 0, err
	}
	f.total = binary.LittleEndian.Uint64(b[headerSize:])
	return f, firstHeaderSize, nil
}
