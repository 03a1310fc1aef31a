package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// lane is a stream on the gRPC connection, on which a [wire.Stream] keeps and checks the rules; or else a check sends
// frames that a host would not, and reads them until its calls have results.
type lane struct {
	stream pluginv1.ToolPlugin_StreamClient
	proc   *process
	stop   context.CancelFunc
	pieces bool            // each byte is a packet, but for the last few
	rest   []byte          // of the packet that is read
	broken error           // which rule the plugin has broken
	seen   map[uint32]bool // the calls that have results

	mu sync.Mutex // one at a time sends
}

// openLane opens a stream.
func (p *process) openLane(ctx context.Context) (*lane, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := p.client.Stream(ctx, grpc.MaxCallRecvMsgSize(wire.MaxMessage))
	if err != nil {
		cancel()
		return nil, p.explain(ctx, "Stream", err)
	}
	return &lane{stream: stream, proc: p, stop: cancel, seen: map[uint32]bool{}}, nil
}

// Read implements [wire.Carrier].
func (l *lane) Read(b []byte) (n int, err error) {
	for len(l.rest) == 0 {
		in, err := l.stream.Recv()
		if err != nil {
			return 0, l.proc.explain(l.stream.Context(), "Stream", err)
		}
		l.rest = in.GetData()
	}
	n = copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Send implements [wire.Carrier]. It writes for at most the limit of a call.
func (l *lane) Send(head []byte, body [][]byte) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := time.AfterFunc(l.proc.limit, l.stop)
	defer late.Stop()
	all := slices.Concat(append([][]byte{head}, body...)...)
	for ; l.pieces && len(all) > 5 && err == nil; all = all[1:] {
		err = l.stream.Send(&pluginv1.Packet{Data: all[:1]})
	}
	if err == nil {
		err = l.stream.Send(&pluginv1.Packet{Data: all})
	}
	if err != nil {
		return fmt.Errorf("the stream takes nothing more: %w", err)
	}
	return nil
}

// Close implements [wire.Carrier].
func (l *lane) Close() error { l.stop(); return nil }

// Kinds of frames, their flag and their sizes in bytes: see "Stream" in the protocol page.
const (
	kindCall   = 1
	kindResult = 2
	kindChunk  = 3
	kindWindow = 4
	kindCancel = 6
	kindNew    = 200 // which does not exist

	flagFirst  = 1
	headerSize = 12
	chunkSize  = 64 << 10
)

// frame sends a frame. Total is the size of the message that it begins; 0: it begins none.
func (l *lane) frame(kind byte, number uint32, total uint64, payload []byte) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload))) //nolint:gosec // a frame's size
	b = append(b, kind, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, number)
	if total > 0 {
		b[5] = flagFirst
		b = binary.LittleEndian.AppendUint64(b, total)
	}
	return l.Send(b, [][]byte{payload})
}

// call sends a call that fits into a frame.
func (l *lane) call(number uint32, in *pluginv1.ExecuteRequest) error {
	text, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	return l.frame(kindCall, number, 0, text)
}

// answered reads until the calls up to a number, from 1 on, have results; late: the stream is over.
func (l *lane) answered(last uint32, within time.Duration) (err error) {
	late := time.AfterFunc(within, l.stop)
	for number := uint32(1); number <= last; {
		if l.seen[number] {
			number++
			continue
		}
		if err = l.next(); err != nil {
			if !late.Stop() {
				err = errLate
			}
			return fmt.Errorf("call %d has no result frame: %w", number, err)
		}
	}
	late.Stop()
	return nil
}

// ask makes a call after those that were answered.
func (l *lane) ask(number uint32, in *pluginv1.ExecuteRequest) error {
	if err := l.call(number, in); err != nil {
		return err
	}
	return l.answered(number, l.proc.limit)
}

var errLate = errors.New("nothing came in time")

// next reads a frame.
func (l *lane) next() error {
	var head [headerSize]byte
	_, err := io.ReadFull(l, head[:])
	size, number := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[8:])
	rest := int64(size)
	if head[5]&flagFirst != 0 {
		rest += 8
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, l, rest)
	}
	switch {
	case err != nil:
		return err
	case head[4] == kindChunk:
		return l.frame(kindWindow, number, 0, binary.LittleEndian.AppendUint32(nil, size))
	}
	l.seen[number] = l.seen[number] || head[4] == kindResult
	return nil
}

// refused makes a call of a tool that does not exist, which each plugin can answer.
func (s *subject) refused(ctx context.Context, stream *wire.Stream, call tool.Call) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, errLate)
	defer cancel()
	_, err := stream.Execute(ctx, call)
	switch {
	case tool.CodeOf(err) == tool.CodeNotFound:
		return nil
	case err == nil || errors.Is(err, wire.ErrClaimed):
		return errors.New("a call of a tool that does not exist is not answered with the error not_found")
	}
	return err
}
