package wire

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that ours hands on to
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// pipe is a carrier on a bidirectional gRPC stream: what any language can offer.
// Where one Packet ends and the next begins means nothing.
type pipe struct {
	stream interface {
		SendMsg(any) error
		RecvMsg(any) error
	}
	end  context.CancelFunc // nil: the stream ends with its handler
	in   mem.Buffer
	rest []byte // of in
}

// Send implements [Carrier]. What many callers queue at a time is more than gRPC
// takes as one message.
func (p *pipe) Send(head []byte, body [][]byte) error {
	for ; len(head) > maxPacket; head = head[maxPacket:] {
		if err := p.stream.SendMsg(&packet{head: head[:maxPacket]}); err != nil {
			return err
		}
	}
	return p.stream.SendMsg(&packet{head: head, body: body})
}

// Read implements [io.Reader].
func (p *pipe) Read(b []byte) (int, error) {
	for empty := 0; len(p.rest) == 0; empty++ {
		if empty > maxEmpty {
			return 0, protocolError("%d packets in a row with nothing in them", maxEmpty)
		}
		if p.in != nil {
			p.in.Free()
			p.in = nil
		}
		var m packet
		if err := p.stream.RecvMsg(&m); err != nil {
			return 0, err
		}
		p.in, p.rest = m.in, m.data
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// maxEmpty bounds how many packets in a row may be empty.
const maxEmpty = 1024

// Close implements [Carrier].
func (p *pipe) Close() error {
	if p.end != nil {
		p.end()
	}
	return nil
}

// packet is a pluginv1.Packet whose bytes are copied no more than they must.
type packet struct {
	head []byte     // to send
	body [][]byte   // and after it
	in   mem.Buffer // received; the receiver frees it
	data []byte     // within in
}

// codec is gRPC's protobuf codec, which encodes packets itself: with the
// generated code each would be copied twice on either side.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// ServerOptions are the options of a gRPC server that a [Server] is registered
// with.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.ForceServerCodecV2(newCodec()),
		// Static windows: gRPC would otherwise measure the connection with a ping a
		// call, in each direction, which doubles the writes. See docs/performance.md.
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(streamWindow),
	}
}

// DialOptions are the host's counterpart of [ServerOptions].
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(streamWindow),
		grpc.WithDisableRetry(),
	}
}

// maxPacket bounds the small frames in one packet, in bytes.
const maxPacket = 1 << 20

// streamWindow is what gRPC itself lets travel unread, in bytes. The stream has a
// flow control of its own, per message.
const streamWindow = 4 << 20

// packetTag is the tag of Packet.data.
var packetTag = protowire.AppendTag(nil, 1, protowire.BytesType)

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*packet)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	// gRPC writes after this has returned, and head is reused, so it is copied.
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
	return out, nil
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*undecoded); ok {
		*raw = data.Materialize()
		return nil
	}
	p, ok := v.(*packet)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in := data.MaterializeToBuffer(mem.DefaultBufferPool())
	b := in.ReadOnlyData()
	if content, ok := packetData(b); ok {
		p.in, p.data = in, content
		return nil
	}
	// Another encoder's way to put it, such as unknown fields in front.
	defer in.Free()
	var m pluginv1.Packet
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &m); err != nil {
		return fmt.Errorf("a packet: %w", err)
	}
	p.in, p.data = mem.SliceBuffer(nil), m.GetData()
	return nil
}

// packetData is the data of a packet that holds this field and nothing else.
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
