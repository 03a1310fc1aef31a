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

// lane is a stream on the gRPC connection, on which a [wire.Stream] keeps and checks the rules. A check may also
// send frames that a host would not, see [lane.raw].
type lane struct {
	stream pluginv1.ToolPlugin_StreamClient
	link   *link
	stop   context.CancelFunc
	pieces bool   // each byte is a packet, but for the last few
	rest   []byte // of the packet that is read
	broken error  // which rule the plugin has broken

	mu sync.Mutex // one at a time sends
}

// openLane opens a stream.
func (p *process) openLane(ctx context.Context) (*lane, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := p.link.client.Stream(ctx, grpc.MaxCallRecvMsgSize(wire.MaxMessage))
	if err != nil {
		cancel()
		return nil, p.link.explain(ctx, "Stream", err)
	}
	return &lane{stream: stream, link: p.link, stop: cancel}, nil
}

// Read implements [wire.Carrier].
func (l *lane) Read(b []byte) (n int, err error) {
	for len(l.rest) == 0 {
		in, err := l.stream.Recv()
		if err != nil {
			return 0, l.link.explain(l.stream.Context(), "Stream", err)
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
	late := time.AfterFunc(l.link.limit, l.stop)
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

// raw is a lane without a [wire.Stream]: it reads frames, and keeps of them which calls have results.
type raw struct {
	*lane
	results chan uint32
	seen    map[uint32]bool
	ended   error // why nothing more comes; set before results is closed
}

func (l *lane) raw() *raw {
	r := &raw{lane: l, results: make(chan uint32, 4096), seen: map[uint32]bool{}}
	go func() {
		defer close(r.results)
		for r.ended == nil {
			r.ended = r.next()
		}
	}()
	return r
}

// next reads a frame.
func (r *raw) next() error {
	var head [headerSize]byte
	_, err := io.ReadFull(r, head[:])
	size, number := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[8:])
	rest := int64(size)
	if head[5]&flagFirst != 0 {
		rest += 8
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, r, rest)
	}
	switch {
	case err != nil:
		return err
	case head[4] == kindChunk:
		return r.frame(kindWindow, number, 0, binary.LittleEndian.AppendUint32(nil, size))
	case head[4] == kindResult:
		select {
		case r.results <- number:
		case <-r.stream.Context().Done():
			return r.stream.Context().Err()
		}
	}
	return nil
}

// call sends a call that fits into a frame.
func (r *raw) call(number uint32, in *pluginv1.ExecuteRequest) error {
	text, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	return r.frame(kindCall, number, 0, text)
}

// ask makes a call after those that were answered.
func (r *raw) ask(ctx context.Context, number uint32, in *pluginv1.ExecuteRequest) error {
	if err := r.call(number, in); err != nil {
		return err
	}
	return r.answered(ctx, number)
}

// answered waits for the results of the calls up to a number, from 1 on.
func (r *raw) answered(ctx context.Context, last uint32) error {
	late := time.NewTimer(r.link.limit)
	defer late.Stop()
	for number := uint32(1); number <= last; {
		if r.seen[number] {
			number++
			continue
		}
		select {
		case n, more := <-r.results:
			if r.seen[n] = true; !more {
				return fmt.Errorf("call %d has no result frame: %w", number, r.ended)
			}
		case <-late.C:
			return fmt.Errorf("call %d has no result frame: %w", number, errLate)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var errLate = errors.New("nothing came in time")

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
