package link

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

// A packet is one message of NATS:
//
//	number  uint64  in clear; 0 for the first packet of a side, then one more each
//	flags   uint8   sealed from here on
//	credit  uint32  how many more bytes the receiver of the packet may send
//	data    the rest
//	        16 bytes of AES-256-GCM, whose nonce is the number
const (
	numberSize   = 8
	sealedHeader = 1 + 4
	tagSize      = 16
	overhead     = numberSize + sealedHeader + tagSize

	// maxPacket bounds a packet, in bytes, so that no other traffic waits long for one.
	maxPacket = 64 << 10
	// minPacket is the least that a server has to take as a message, in bytes.
	minPacket = 1 << 10
)

// The flags of a packet.
const (
	flagClose = 1 << iota // it is the last of its side
	flagProbe             // it asks for a packet
)

// packet is what was sealed.
type packet struct {
	flags  uint8
	credit int
	data   []byte
}

var (
	errForged = errors.New("the packet is not one of the link, or an old one")
	errLost   = errors.New("messages of the other host were lost")
	errBroken = errors.New("the other host breaks the protocol of links")
)

// sealer makes the packets of one side.
type sealer struct {
	aead  cipher.AEAD
	next  uint64
	nonce [12]byte
	buf   []byte // the packet being made, reused
}

// seal returns a packet with up to most bytes of pieces, and what is left of them. The packet is
// valid until the next call; pieces is changed.
func (s *sealer) seal(flags uint8, credit int, pieces [][]byte, most int) (sealed []byte, left [][]byte) {
	b := binary.BigEndian.AppendUint64(s.buf[:0], s.next)
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, uint32(credit)) //nolint:gosec // at most window
	for ; len(pieces) > 0 && most > 0; pieces = pieces[1:] {
		n := min(most, len(pieces[0]))
		b = append(b, pieces[0][:n]...)
		most -= n
		if n < len(pieces[0]) {
			pieces[0] = pieces[0][n:]
			break
		}
	}
	binary.BigEndian.PutUint64(s.nonce[4:], s.next)
	s.next++
	b = s.aead.Seal(b[:numberSize], s.nonce[:], b[numberSize:], b[:numberSize])
	s.buf = b
	return b, pieces
}

// opener reads the packets of the other side.
type opener struct {
	aead  cipher.AEAD
	next  uint64
	nonce [12]byte
	most  int // bytes of a packet
}

// open reads a packet in place.
//
// # Errors
//
// errForged, after which nothing has changed; errLost, if packets before this one are missing;
// errBroken.
func (o *opener) open(data []byte) (packet, error) {
	if len(data) < overhead || len(data) > o.most {
		return packet{}, errForged
	}
	number := binary.BigEndian.Uint64(data)
	if number < o.next {
		return packet{}, errForged
	}
	copy(o.nonce[4:], data[:numberSize])
	plain, err := o.aead.Open(data[numberSize:numberSize], o.nonce[:], data[numberSize:], data[:numberSize])
	switch {
	case err != nil:
		return packet{}, errForged
	case number > o.next:
		return packet{}, errLost
	}
	o.next++
	p := packet{flags: plain[0], credit: int(binary.BigEndian.Uint32(plain[1:])), data: plain[sealedHeader:]}
	if p.flags&^(flagClose|flagProbe) != 0 {
		return packet{}, errBroken
	}
	return p, nil
}
