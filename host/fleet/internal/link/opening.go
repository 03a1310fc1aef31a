package link

import (
	"encoding/binary"
	"slices"

	"github.com/flynn/noise"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Opening is the request for a link. A stranger may have written or repeated it: it proves nothing before [Accept],
// and until the link is proven only that its caller once made it.
type Opening struct {
	Link      string // the ID of the link
	About     []byte // what the caller says of itself; at most 32 KiB
	MaxPacket int    // the size, in bytes, of the packets that the caller takes

	prologue, message []byte // of the handshake
}

// An opening is
//
//	version    uint8   1
//	link       16 bytes
//	max packet uint32
//	about
//	message    48 bytes, the first of the handshake, of which all before it is the prologue
//
// Integers are big-endian here and in packets.
const (
	version       = 1
	linkSize      = 16
	openingHeader = 1 + linkSize + 4
	messageSize   = 32 + tagSize // an ephemeral key, and the tag of what is sealed with it
	maxAbout      = 32 << 10
)

// ParseOpening reads an opening.
//
// # Errors
//
// [tool.CodeUnsupported] for a version that this host does not speak, [tool.CodeInvalidArguments]
// for anything else that is not an opening.
func ParseOpening(data []byte) (*Opening, error) {
	size := len(data) - messageSize
	switch {
	case len(data) > 0 && data[0] != version:
		return nil, tool.Errorf(tool.CodeUnsupported, "a link has version %d, and this host speaks only version %d", data[0], version)
	case size < openingHeader || size > openingHeader+maxAbout:
		return nil, tool.Errorf(tool.CodeInvalidArguments, "%d bytes are not the opening of a link", len(data))
	}
	data = slices.Clone(data)
	o := &Opening{
		Link: token(data[1 : 1+linkSize]), About: data[openingHeader:size:size], prologue: data[:size:size], message: data[size:],
		MaxPacket: int(binary.BigEndian.Uint32(data[1+linkSize:])),
	}
	if o.MaxPacket < minPacket {
		return nil, tooSmall(o.MaxPacket)
	}
	return o, nil
}

func tooSmall(size int) error {
	e := tool.Errorf(tool.CodeUnsupported, "a link needs messages of at least %d bytes, and the NATS server takes %d", minPacket, size)
	e.OperatorHint = "raise max_payload of the NATS server"
	return e
}

// newOpening returns an opening for a link with a random ID, and the handshake that it begins.
func newOpening(self *Instance, remote, link, about []byte, most int) ([]byte, *noise.HandshakeState, error) {
	switch {
	case len(about) > maxAbout:
		return nil, nil, tool.Errorf(tool.CodeResourceExhausted, "a host says %d bytes of itself, more than %d", len(about), maxAbout)
	case most < minPacket:
		return nil, nil, tooSmall(most)
	}
	prologue := append([]byte{version}, link...)
	prologue = binary.BigEndian.AppendUint32(prologue, uint32(most)) //nolint:gosec // at most maxPacket
	prologue = append(prologue, about...)
	hs, err := noise.NewHandshakeState(self.handshake(true, remote, prologue))
	if err != nil {
		return nil, nil, err
	}
	opening, _, _, err := hs.WriteMessage(prologue, nil)
	return opening, hs, err
}
