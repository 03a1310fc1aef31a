package pluginrun

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"golang.org/x/net/http2"

	"github.com/toolhost/toolhost/internal/wire"
)

// guardedConn is a gRPC connection that reads the HTTP/2 frames that pass, because gRPC leaves
// three things unbounded: the results of unary calls together, frames that answer nothing,
// and how often a plugin sends its host away.
//
// It changes nothing of what passes, unless a call is refused: then it tells either end that
// the other has reset its stream.
type guardedConn struct {
	net.Conn
	pace func(bytes int) // may wait

	writing sync.Mutex // held for a write
	out     frameScanner
	owed    []byte // what is to be written after the frame that is under way

	in     frameScanner // the reader's own
	insert []byte       // what gRPC is to read at the end of the frame that it reads

	mu      sync.Mutex
	streams map[uint32]int // that the host has opened, with the bytes of data that came
	held    int            // of those that are counted
	exempt  uint32         // streams up to this number are not counted
	newest  uint32
	bounded bool
	credit  int // frames that may come without an answer in them
	goAways int
}

const (
	// maxAssembling bounds the unary results that are being put together, in bytes, as a
	// stream's are.
	maxAssembling = 2 * wire.MaxMessage
	// freeFrames is how many frames that answer nothing are let through for each that the
	// host sends (window updates, a server's measuring of the connection by pings), and
	// maxCredit how many at once. Beyond that they are paced.
	freeFrames = 8
	maxCredit  = 1 << 12
	// maxIdleFrame bounds what one of them is charged, in bytes: none may be longer.
	maxIdleFrame = 16 << 10
	// maxGoAways is how often a plugin may send its host away: in good order, twice.
	maxGoAways = 2
)

func newGuardedConn(c net.Conn, pace func(bytes int)) *guardedConn {
	return &guardedConn{
		Conn: c, pace: pace, streams: map[uint32]int{}, credit: maxCredit,
		out: frameScanner{left: len(http2.ClientPreface)},
	}
}

// bound begins to count the data of streams, of those that are opened from now on: each
// is a unary call's. Those that are open live as long as the connection.
func (c *guardedConn) bound() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exempt, c.bounded = c.newest, true
}

var errGoAway = errors.New("the plugin sent the host away again and again")

// Read implements [net.Conn].
func (c *guardedConn) Read(b []byte) (int, error) {
	if len(c.insert) > 0 {
		if left := c.in.rest(); left > 0 {
			b = b[:min(len(b), left)] // up to the end of the frame
		} else {
			n := copy(b, c.insert)
			c.insert = c.insert[n:]
			return n, nil
		}
	}
	n, err := c.Conn.Read(b)
	idle, refused, away := c.received(b[:n])
	if away {
		return 0, errGoAway
	}
	if len(refused) > 0 {
		for _, number := range refused {
			c.insert = append(c.insert, resetFrame(number)...)
		}
		go c.reset(append([]byte(nil), c.insert...)) // a reader must not wait for a plugin that does not read
	}
	if idle > 0 {
		c.pace(idle)
	}
	return n, err
}

// received counts frames. It returns how much is to be paced, in bytes, which streams
// are too much, and whether the connection is to be ended.
func (c *guardedConn) received(b []byte) (idle int, refused []uint32, away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.scan(b, func(f frameHead) {
		data, open := c.streams[f.stream]
		switch {
		case f.kind == http2.FrameData && open && f.size > 0:
			if c.bounded && f.stream > c.exempt {
				c.streams[f.stream] = data + f.size
				if c.held += f.size; c.held > maxAssembling {
					refused = append(refused, c.refuse())
				}
			}
		case (f.kind == http2.FrameHeaders || f.kind == http2.FrameRSTStream) && open:
		case f.kind == http2.FrameGoAway:
			c.goAways++
			away = away || c.goAways > maxGoAways
		case c.credit > 0:
			c.credit--
		default:
			idle += min(f.size, maxIdleFrame) + recordCost
		}
		ends := f.flags&flagEndStream != 0 && (f.kind == http2.FrameData || f.kind == http2.FrameHeaders)
		if open && (ends || f.kind == http2.FrameRSTStream) {
			c.forget(f.stream)
		}
	})
	return idle, refused, away
}

// refuse chooses the stream to be reset: the newest of those that have data. The lock is
// held.
func (c *guardedConn) refuse() uint32 {
	var last uint32
	for number := range c.streams {
		if number > c.exempt && c.streams[number] > 0 {
			last = max(last, number)
		}
	}
	c.forget(last)
	return last
}

// forget removes a stream that has ended. The lock is held.
func (c *guardedConn) forget(number uint32) {
	if number > c.exempt {
		c.held -= c.streams[number]
	}
	delete(c.streams, number)
}

// Write implements [net.Conn].
func (c *guardedConn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	c.out.scan(b, c.sent)
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	if err == nil {
		err = c.pay()
	}
	return n, err
}

// sent counts a frame of the host's. The lock is held.
func (c *guardedConn) sent(f frameHead) {
	switch f.kind {
	case http2.FrameHeaders:
		if f.stream > c.newest {
			c.newest = f.stream
			c.streams[f.stream] = 0
		}
	case http2.FrameRSTStream:
		c.forget(f.stream)
	case http2.FrameData:
	default:
		return
	}
	c.credit = min(c.credit+freeFrames, maxCredit)
}

// reset tells the plugin of streams that are not read any more.
func (c *guardedConn) reset(frames []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.owed = append(c.owed, frames...)
	_ = c.pay() // gRPC meets the same error
}

// pay writes what is owed, between two frames.
func (c *guardedConn) pay() error {
	if len(c.owed) == 0 || c.out.rest() > 0 {
		return nil
	}
	frames := c.owed
	c.owed = nil
	_, err := c.Conn.Write(frames)
	return err
}

const (
	frameHeadSize = 9
	flagEndStream = 0x1
)

// frameHead is the header of an HTTP/2 frame (RFC 9113, section 4.1).
type frameHead struct {
	size   int // of the payload, in bytes
	kind   http2.FrameType
	flags  byte
	stream uint32
}

// resetFrame resets a stream with the code that gRPC reads as "resource exhausted".
func resetFrame(stream uint32) []byte {
	b := []byte{0, 0, 4, byte(http2.FrameRSTStream), 0}
	b = binary.BigEndian.AppendUint32(b, stream)
	return binary.BigEndian.AppendUint32(b, uint32(http2.ErrCodeEnhanceYourCalm))
}

// frameScanner finds the frames in bytes that come in any pieces.
type frameScanner struct {
	head [frameHeadSize]byte
	have int // of the header
	left int // of the payload
}

// scan calls seen with each header that ends in b.
func (s *frameScanner) scan(b []byte, seen func(frameHead)) {
	for len(b) > 0 {
		if s.left > 0 {
			n := min(s.left, len(b))
			s.left -= n
			b = b[n:]
			continue
		}
		n := copy(s.head[s.have:], b)
		b = b[n:]
		if s.have += n; s.have < frameHeadSize {
			return
		}
		s.have = 0
		h := frameHead{
			size: int(s.head[0])<<16 | int(s.head[1])<<8 | int(s.head[2]), kind: http2.FrameType(s.head[3]), flags: s.head[4],
			stream: binary.BigEndian.Uint32(s.head[5:]) &^ (1 << 31),
		}
		s.left = h.size
		seen(h)
	}
}

// rest returns how many bytes are missing until a header, or else the frame, is whole; 0: the
// next byte begins a frame.
func (s *frameScanner) rest() int {
	if s.have > 0 {
		return frameHeadSize - s.have
	}
	return s.left
}
