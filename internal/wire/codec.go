package wire

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that ours delegates to
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// codec is gRPC's protobuf codec, with hand-written code for four types: [packet],
// which the generated code would copy twice on each side, [request], [answer] and
// [undecoded].
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// packet is a pluginv1.Packet whose bytes are copied as little as possible.
type packet struct {
	head []byte     // to send
	body [][]byte   // to send after head
	in   mem.Buffer // received; the receiver frees it
	data []byte     // within in
}

// undecoded is a received message in its encoded form.
type undecoded []byte

// packetTag is the tag of Packet.data.
var packetTag = protowire.AppendTag(nil, 1, protowire.BytesType)

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *packet:
		return v.marshal(), nil
	case *request:
		return mem.BufferSlice{mem.SliceBuffer(appendRequest(make([]byte, 0, v.length()), v))}, nil
	case *answer:
		var out mem.BufferSlice
		parts, _ := v.parts()
		for _, piece := range parts {
			out = append(out, mem.SliceBuffer(piece))
		}
		return out, nil
	}
	return c.CodecV2.Marshal(v)
}

func (p *packet) marshal() mem.BufferSlice {
	// gRPC writes after marshal has returned, and the caller reuses head, so head is
	// copied.
	const most = 16
	pool := mem.DefaultBufferPool()
	buf := pool.Get(most + len(p.head))
	size := len(p.head)
	for _, piece := range p.body {
		size += len(piece)
	}
	*buf = append((*buf)[:0], packetTag...)
	*buf = protowire.AppendVarint(*buf, uint64(size)) //nolint:gosec // a length
	*buf = append(*buf, p.head...)
	out := mem.BufferSlice{mem.NewBuffer(buf, pool)}
	for _, piece := range p.body {
		out = append(out, mem.SliceBuffer(piece))
	}
	return out
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) (err error) {
	switch v := v.(type) {
	case *packet:
		return c.unmarshalPacket(data, v)
	case *request:
		*v, err = parseRequest(data.Materialize(), nil)
		return err
	case *undecoded:
		*v = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

func (c codec) unmarshalPacket(data mem.BufferSlice, p *packet) error {
	in := data.MaterializeToBuffer(mem.DefaultBufferPool())
	b := in.ReadOnlyData()
	if content, ok := packetData(b); ok {
		p.in, p.data = in, content
		return nil
	}
	// Another encoder may write unknown fields first.
	defer in.Free()
	var m pluginv1.Packet
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &m); err != nil {
		return fmt.Errorf("unmarshal a packet: %w", err)
	}
	p.in, p.data = mem.SliceBuffer(nil), m.GetData()
	return nil
}

// packetData returns the data of a packet that has no other field.
func packetData(b []byte) ([]byte, bool) {
	if len(b) == 0 {
		return nil, true
	}
	if len(b) < len(packetTag) || string(b[:len(packetTag)]) != string(packetTag) {
		return nil, false
	}
	data, n := protowire.ConsumeBytes(b[len(packetTag):])
	return data, n > 0 && len(packetTag)+n == len(b)
}
