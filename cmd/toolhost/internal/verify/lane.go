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

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// The kinds of frames, their flag, and their limits in bytes: see "Stream" in the protocol page.
const (
	kindCall     = 1
	kindResult   = 2
	kindChunk    = 3
	kindWindow   = 4
	kindProgress = 5
	kindCancel   = 6
	kindLog      = 9
	kindNew      = 200 // which does not exist

	flagFirst   = 1
	headerSize  = 12
	maxFrame    = 128 << 10
	chunkSize   = 64 << 10
	firstWindow = 256 << 10
	maxMessage  = 64 << 20
)

// lane is the host's end of a stream of frames. It keeps the rules, and notes if the plugin does not.
type lane struct {
	write func([]byte) error
	proc  *process
	limit time.Duration
	stop  func()

	mu      sync.Mutex
	calls   map[uint32]*sentCall
	fault   error // that the plugin broke a rule
	ended   error // why nothing more comes
	changed chan struct{}
}

// sentCall is a call on a lane.
type sentCall struct {
	results int
	part    []byte // of the result, in chunks
	total   int
	window  int // bytes that may still be sent
	granted int // bytes that the plugin may still send
	out     *pluginv1.ExecuteResponse
	bad     error
}

// openLane opens a stream on the gRPC connection.
func (p *process) openLane(ctx context.Context) (*lane, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := p.link.client.Stream(ctx, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		cancel()
		return nil, p.link.explain(ctx, "Stream", err)
	}
	write := func(b []byte) error { return stream.Send(&pluginv1.Packet{Data: b}) }
	r := &packetReader{recv: func() ([]byte, error) {
		in, err := stream.Recv()
		if err != nil {
			return nil, p.link.explain(ctx, "Stream", err)
		}
		return in.GetData(), nil
	}}
	return newLane(p, r, write, cancel), nil
}

func newLane(p *process, r io.Reader, write func([]byte) error, stop func()) *lane {
	l := &lane{
		write: write, proc: p, limit: p.link.limit, stop: stop,
		calls: map[uint32]*sentCall{}, changed: make(chan struct{}),
	}
	go l.read(r)
	return l
}

// packetReader makes bytes of packets.
type packetReader struct {
	recv func() ([]byte, error)
	rest []byte
}

func (r *packetReader) Read(b []byte) (n int, err error) {
	for len(r.rest) == 0 {
		if r.rest, err = r.recv(); err != nil {
			return 0, err
		}
	}
	n = copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// read reads frames until there are no more, or one breaks a rule.
func (l *lane) read(r io.Reader) {
	for {
		var head [headerSize + 8]byte
		_, err := io.ReadFull(r, head[:headerSize])
		size, kind, flags := binary.LittleEndian.Uint32(head[:]), head[4], head[5]
		if err == nil && flags&flagFirst != 0 {
			_, err = io.ReadFull(r, head[headerSize:])
		}
		if err == nil && size > maxFrame {
			l.end(nil, fmt.Errorf("a frame of %d bytes, more than %d", size, maxFrame))
			return
		}
		payload := make([]byte, min(size, maxFrame))
		if err == nil {
			_, err = io.ReadFull(r, payload)
		}
		if err != nil {
			l.end(err, nil)
			return
		}
		number := binary.LittleEndian.Uint32(head[8:])
		total := int64(-1)
		if flags&flagFirst != 0 {
			total = int64(min(binary.LittleEndian.Uint64(head[headerSize:]), 1<<40)) //nolint:gosec // bounded here
		}
		grant, fault := l.take(kind, number, total, payload)
		if fault != nil {
			l.end(nil, fault)
			return
		}
		if grant > 0 {
			_ = l.send(kindWindow, 0, number, 0, binary.LittleEndian.AppendUint32(nil, uint32(grant))) //nolint:gosec // a frame's size
		}
	}
}

// end notes why nothing more is read.
func (l *lane) end(err, fault error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.fault = err, fault
	if l.ended == nil {
		l.ended = fault
	}
	l.tell()
}

// tell wakes those who wait. The lock is held.
func (l *lane) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// take takes a frame, and returns how many more bytes the plugin may send, or which rule it breaks.
func (l *lane) take(kind byte, number uint32, total int64, payload []byte) (grant int, fault error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[number]
	switch kind {
	case kindResult, kindChunk, kindWindow, kindProgress:
		if c == nil && kind != kindWindow {
			return 0, fmt.Errorf("a frame of kind %d for call %d, which was not made", kind, number)
		}
	case kindCall, kindCancel:
		return 0, fmt.Errorf("a frame of kind %d, which only hosts send", kind)
	default:
		return 0, nil
	}
	switch kind {
	case kindWindow:
		if len(payload) != 4 {
			return 0, fmt.Errorf("a window frame with %d bytes", len(payload))
		}
		if c != nil {
			c.window += int(binary.LittleEndian.Uint32(payload))
		}
	case kindChunk:
		if total >= 0 {
			c.total, c.granted, c.part = int(total), firstWindow, []byte{}
		}
		switch {
		case c.part == nil:
			return 0, fmt.Errorf("a chunk for call %d without a first chunk", number)
		case c.total > maxMessage || len(c.part)+len(payload) > c.total:
			return 0, fmt.Errorf("chunks of %d bytes of a message of %d", len(c.part)+len(payload), c.total)
		case len(payload) > c.granted:
			return 0, fmt.Errorf("a chunk of %d bytes, of which %d may be sent without waiting for a window", len(payload), c.granted)
		}
		c.part = append(c.part, payload...)
		grant = len(payload)
	case kindResult:
		c.results++
		whole := slices.Concat(c.part, payload)
		if c.part != nil && len(whole) != c.total && len(payload) > 0 && c.bad == nil {
			c.part = nil // it was cut off, and this is another result
			whole = payload
		}
		out := &pluginv1.ExecuteResponse{}
		if c.bad = proto.Unmarshal(whole, out); c.bad == nil {
			c.out = out
		}
		c.part = nil
	}
	l.tell()
	return grant, nil
}

// frame encodes a frame.
func frame(kind, flags byte, number uint32, total int, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload))) //nolint:gosec // a frame's size
	b = append(b, kind, flags, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, number)
	if flags&flagFirst != 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(total)) //nolint:gosec // a message's size
	}
	return append(b, payload...)
}

func (l *lane) send(kind, flags byte, number uint32, total int, payload []byte) error {
	return l.put(frame(kind, flags, number, total, payload))
}

// put writes, for at most the limit of a call.
func (l *lane) put(b []byte) error {
	late := time.AfterFunc(l.limit, l.stop)
	defer late.Stop()
	if err := l.write(b); err != nil {
		return fmt.Errorf("the stream takes nothing more: %w", err)
	}
	return nil
}

// begin registers a call.
func (l *lane) begin(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[number] = &sentCall{window: firstWindow}
}

// call sends a call, in chunks if it is long.
func (l *lane) call(ctx context.Context, number uint32, in *pluginv1.ExecuteRequest) error {
	text, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	l.begin(number)
	if len(text) <= maxFrame {
		return l.send(kindCall, 0, number, 0, text)
	}
	flags := byte(flagFirst)
	for rest := text; len(rest) > 0; flags = 0 {
		size := min(len(rest), chunkSize)
		if err := l.await(ctx, func() bool { return l.calls[number].window >= size }); err != nil {
			return fmt.Errorf("no window for more than %d of the %d bytes of a call: %w", len(text)-len(rest), len(text), err)
		}
		l.mu.Lock()
		l.calls[number].window -= size
		l.mu.Unlock()
		kind := byte(kindChunk)
		if size == len(rest) {
			kind = kindCall
		}
		if err := l.send(kind, flags, number, len(text), rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	return nil
}

var errLate = errors.New("nothing came in time")

// await waits until done, which is called with the lock held.
func (l *lane) await(ctx context.Context, done func() bool) error {
	late := time.NewTimer(l.limit)
	defer late.Stop()
	for {
		l.mu.Lock()
		ok, ended, changed := done(), l.ended, l.changed
		l.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended != nil:
			return ended
		}
		select {
		case <-changed:
		case <-late.C:
			return errLate
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// result waits for the result of a call.
func (l *lane) result(ctx context.Context, number uint32) (*pluginv1.ExecuteResponse, error) {
	if err := l.await(ctx, func() bool { return l.calls[number].results > 0 }); err != nil {
		return nil, fmt.Errorf("call %d has no result frame: %w", number, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[number]
	if c.bad != nil {
		return nil, fmt.Errorf("the result frame of call %d is not an ExecuteResponse: %w", number, c.bad)
	}
	return c.out, nil
}

// close ends the stream, and returns which rule the plugin broke.
func (l *lane) close() error {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for number, c := range l.calls {
		if c.results > 1 && l.fault == nil {
			l.fault = fmt.Errorf("call %d has %d result frames", number, c.results)
		}
	}
	return l.fault
}
