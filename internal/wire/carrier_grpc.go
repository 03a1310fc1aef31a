package wire

import (
	"context"

	"google.golang.org/grpc/mem"
)

// pipe is a carrier on a bidirectional gRPC stream, which plugins in any language
// can serve. The boundaries between packets carry no meaning.
type pipe struct {
	stream interface {
		SendMsg(any) error
		RecvMsg(any) error
	}
	cancel context.CancelFunc // nil: the stream ends with its handler
	in     mem.Buffer
	rest   []byte // of in
}

// maxPacket bounds the small frames in one packet, in bytes.
const maxPacket = 1 << 20

// Send implements [Carrier]. It splits head into several packets, because many
// callers together can queue more than gRPC accepts as one message.
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
			return 0, protocolError("%d empty packets in a row", maxEmpty)
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
	if p.cancel != nil {
		p.cancel()
	}
	return nil
}
