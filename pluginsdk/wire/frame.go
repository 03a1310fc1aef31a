package wire

import "encoding/binary"

// Frames are what a stream is made of: a header of 12 bytes, and a payload.
//
//	size    uint32  of the payload, in bytes; at most maxFrame
//	kind    uint8
//	flags   uint8
//	        uint16  0; a receiver ignores it
//	number  uint32  of the call; 0: the stream itself
//
// Numbers are little-endian. A kind that a receiver does not know it skips. The
// first chunk of a message, with flagFirst, has a longer header:
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

// kind is what a frame says. The numbers are the protocol.
type kind uint8

const (
	kindCall     kind = 1  // host: an ExecuteRequest, or its last part
	kindResult   kind = 2  // plugin: an ExecuteResponse, or its last part; each call gets exactly one
	kindChunk    kind = 3  // either: a part of a message that is longer than a frame
	kindWindow   kind = 4  // either: so many more bytes of the message are taken, a uint32
	kindProgress kind = 5  // plugin: a Progress
	kindCancel   kind = 6  // host: nobody waits for the call any more; its result may be short
	kindAsk      kind = 7  // plugin: reserved, a question to the caller
	kindChanged  kind = 8  // plugin: its tools are others now; no payload
	kindLog      kind = 9  // plugin: a LogRecord
	kindAnswer   kind = 10 // host: reserved, the caller's answer
)

// flagFirst marks the first chunk of a message.
const flagFirst = 1

// The sizes of the protocol, in bytes. Messages up to maxFrame travel whole, so
// that most results cost one frame; larger ones in chunks that are smaller, so
// that what is urgent never waits for long behind one.
const (
	maxFrame  = 128 << 10
	chunkSize = 64 << 10
	// firstWindow is how much of a message its sender may send before it is told
	// that more is taken.
	firstWindow = 256 << 10
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

// readHeader reads a header from r, of which peek shows the next bytes, and says
// how many it has. What peek fails with is returned, and nothing is lost.
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
