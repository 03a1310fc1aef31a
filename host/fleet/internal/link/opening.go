package link

import (
	"encoding/binary"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Opening is the request for a link. A stranger may have written it: it proves nothing.
type Opening struct {
	Link      string // the ID of the link
	Ephemeral []byte // the public half of the caller's key for this link only
	About     []byte // what the caller says of itself; at most 32 KiB
	MaxPacket int    // the size, in bytes, of the packets that the caller takes

	raw []byte // all of it: both hosts have to mean the same opening
}

// An opening is
//
//	version    uint8   1
//	link       16 bytes
//	ephemeral  32 bytes
//	max packet uint32
//	about      the rest
//
// Integers are big-endian here and in packets.
const (
	version       = 1
	linkSize      = 16
	openingHeader = 1 + linkSize + keySize + 4
	maxAbout      = 32 << 10
)

// ParseOpening reads an opening.
//
// # Errors
//
// [tool.CodeUnsupported] for a version that this host does not speak, [tool.CodeInvalidArguments]
// for anything else that is not an opening.
func ParseOpening(data []byte) (*Opening, error) {
	switch {
	case len(data) > 0 && data[0] != version:
		return nil, tool.Errorf(tool.CodeUnsupported, "a link has version %d, and this host speaks only version %d", data[0], version)
	case len(data) < openingHeader || len(data) > openingHeader+maxAbout:
		return nil, tool.Errorf(tool.CodeInvalidArguments, "%d bytes are not the opening of a link", len(data))
	}
	raw := slices.Clone(data)
	link, rest := raw[1:1+linkSize], raw[1+linkSize:]
	o := &Opening{
		Link: token(link), Ephemeral: rest[:keySize:keySize], About: rest[keySize+4:], raw: raw,
		MaxPacket: int(binary.BigEndian.Uint32(rest[keySize:])),
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

// newOpening returns an opening for a link with a random ID.
func newOpening(link, ephemeral, about []byte, most int) (*Opening, error) {
	if len(about) > maxAbout {
		return nil, tool.Errorf(tool.CodeResourceExhausted, "a host says %d bytes of itself, more than %d", len(about), maxAbout)
	}
	raw := append([]byte{version}, link...)
	raw = append(raw, ephemeral...)
	raw = binary.BigEndian.AppendUint32(raw, uint32(most)) //nolint:gosec // at most maxPacket
	return ParseOpening(append(raw, about...))
}
