package link

import (
	"encoding/binary"
	"errors"

	"github.com/flynn/noise"
)

// A packet is one message of NATS:
//
//	number  uint64  in clear; 0 for the first packet of a side, then one more each
//	flags   uint8   sealed from here on
//	credit  uint32  how many more bytes the receiver of the packet may send
//	data    the rest
//	        16 bytes of AES-256-GCM
//
// The number is the nonce of Noise, which therefore seals it too. It is sent as a message may be lost, which it shows,
// or be forged, which then changes nothing.
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

// seal appends a packet with up to most bytes of pieces to an empty b, and returns it with what is left of them;
// pieces is changed. Its number is that of the cipher.
func seal(c *noise.CipherState, b []byte, flags uint8, credit int, pieces [][]byte, most int) (sealed []byte, left [][]byte, err error) {
	b = binary.BigEndian.AppendUint64(b, c.Nonce())
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
	sealed, err = c.Encrypt(b[:numberSize], nil, b[numberSize:])
	return sealed, pieces, err
}

// open reads a packet of at most so many bytes in place.
//
// # Errors
//
// errForged, after which nothing has changed; errLost, if packets before this one are missing;
// errBroken.
func open(c *noise.CipherState, data []byte, most int) (packet, error) {
	if len(data) < overhead || len(data) > most {
		return packet{}, errForged
	}
	next, number := c.Nonce(), binary.BigEndian.Uint64(data)
	if number < next {
		return packet{}, errForged
	}
	c.SetNonce(number)
	plain, err := c.Decrypt(data[numberSize:numberSize], nil, data[numberSize:])
	switch {
	case err != nil:
		c.SetNonce(next)
		return packet{}, errForged
	case number > next:
		return packet{}, errLost
	}
	p := packet{flags: plain[0], credit: int(binary.BigEndian.Uint32(plain[1:])), data: plain[sealedHeader:]}
	if p.flags&^(flagClose|flagProbe) != 0 {
		return packet{}, errBroken
	}
	return p, nil
}
