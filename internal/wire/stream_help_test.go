package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// byDay returns the first number by day, when each test takes a second or so, and the second in
// .ci/long.
func byDay(day, long int) int {
	if testing.Short() {
		return day
	}
	return long
}

// ceiling is the time after which anything counts as hanging, on a busy machine.
const ceiling = 2 * time.Minute

// The two carriers, as a test's cases.
const (
	onSocket = "socket"
	inMemory = "pipe" // for bubbles of testing/synctest, which sockets cannot be in
	onGRPC   = "grpc"
)

var carriers = []string{onSocket, onGRPC}

// onCarriers runs a test on each carrier.
func onCarriers(t *testing.T, f func(t *testing.T, carrier string)) {
	t.Helper()
	for _, c := range carriers {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}

// socketPair returns a connected pair of Unix sockets.
func socketPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l := listen(t)
	defer func() { _ = l.Close() }()
	a, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	dir, err := os.MkdirTemp("", "th-wire-") // a short path, as addresses are short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := require.Must(net.Listen("unix", filepath.Join(dir, "s")))(t)
	return l
}

// dialTo serves a gRPC server on a socket, and connects to it as a host does.
func dialTo(t testing.TB, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	l := listen(t)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	opts := append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn := require.Must(grpc.NewClient("unix:"+l.Addr().String(), opts...))(t)
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-ended
	})
	return conn
}

// served is a provider whose calls go over a stream to another provider.
type served struct {
	*Stream
	provider tool.Provider
	stop     func()
}

func (s *served) List(ctx context.Context) ([]tool.Definition, error) { return s.provider.List(ctx) }

func (s *served) Close(context.Context) error {
	err := s.Stream.Close()
	s.stop()
	return err
}

// serve serves a provider over a stream on a carrier. The stream ends with the test.
func serve(t testing.TB, carrier string, p tool.Provider, hooks StreamHooks) *served {
	t.Helper()
	server := &Server{Provider: p}
	out := &served{provider: p, stop: func() {}}
	if carrier == onGRPC {
		g := newGRPCServer(nil)
		Register(g, server)
		s := require.Must(NewClient(dialTo(t, g)).OpenStream(t.Context(), hooks))(t)
		out.Stream = s
	} else {
		a, b := net.Pipe()
		if carrier == onSocket {
			a, b = socketPair(t)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = server.Serve(context.Background(), NewSocket(b)) }()
		out.Stream = NewStream(NewSocket(a), hooks)
		out.stop = func() { <-ended }
	}
	t.Cleanup(func() { _ = out.Close(context.Background()) })
	return out
}

// handlers is a provider that runs functions by name.
type handlers map[string]tool.Handler

func (h handlers) List(context.Context) ([]tool.Definition, error) { return nil, nil }
func (h handlers) Close(context.Context) error                     { return nil }
func (h handlers) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	f := h[c.Name]
	if f == nil {
		return tool.Result{}, tool.Errorf(tool.CodeNotFound, "no tool %q", c.Name)
	}
	return f(ctx, c)
}

func echo(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Text(string(c.Arguments)), nil
}

// outcome is what a call returns.
type outcome struct {
	res tool.Result
	err error
}

// begin starts a call.
func begin(ctx context.Context, p interface {
	Execute(context.Context, tool.Call) (tool.Result, error)
}, c tool.Call,
) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		res, err := p.Execute(ctx, c)
		done <- outcome{res, err}
	}()
	return done
}

// within receives from c, or fails the test with the stacks of all goroutines.
func within[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	limit := time.NewTimer(ceiling)
	defer limit.Stop()
	select {
	case v := <-c:
		return v
	case <-limit.C:
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s: nothing in %v\n%s", what, ceiling, stacks[:runtime.Stack(stacks, true)])
		panic("unreachable")
	}
}

// wantText checks that a call returned a text.
func wantText(t testing.TB, o outcome, want string) {
	t.Helper()
	if o.err != nil || o.res.Text() != want {
		t.Errorf("got %.100q, %v; want %.100q", o.res.Text(), o.err, want)
	}
}

// wantCode checks that a call returned a *tool.Error with a code.
func wantCode(t testing.TB, o outcome, code tool.Code) *tool.Error {
	t.Helper()
	var e *tool.Error
	if !errors.As(o.err, &e) || e.Code != code {
		t.Errorf("got %v (code %q), want the code %q", o.err, tool.CodeOf(o.err), code)
		return &tool.Error{}
	}
	return e
}

// peer is the other end of a stream, at the level of frames: a plugin that the test
// controls. Only one goroutine may call its methods.
type peer struct {
	t    testing.TB
	rw   io.ReadWriteCloser
	in   *bufio.Reader
	once sync.Once
}

// withPeer returns a stream whose plugin is a peer, which uses stock gRPC on that carrier.
func withPeer(t testing.TB, carrier string, hooks StreamHooks) (*Stream, *peer) {
	t.Helper()
	if carrier == onGRPC {
		raw := &packets{streams: make(chan *packetStream, 1)}
		g := grpc.NewServer()
		pluginv1.RegisterToolPluginServer(g, raw)
		s := require.Must(NewClient(dialTo(t, g)).OpenStream(t.Context(), hooks))(t)
		t.Cleanup(func() { _ = s.Close() })
		return s, newPeer(t, within(t, "the stream", raw.streams))
	}
	a, b := socketPair(t)
	s := NewStream(NewSocket(a), hooks)
	t.Cleanup(func() { _ = s.Close() })
	return s, newPeer(t, b)
}

func newPeer(t testing.TB, rw io.ReadWriteCloser) *peer {
	p := &peer{t: t, rw: rw, in: bufio.NewReader(rw)}
	t.Cleanup(p.close)
	return p
}

func (p *peer) close() { p.once.Do(func() { _ = p.rw.Close() }) }

// raw returns an encoded frame.
func raw(k kind, number uint32, payload []byte) []byte {
	return append(appendHeader(nil, frame{size: len(payload), kind: k, number: number}), payload...)
}

// first returns the first chunk of a message.
func first(k kind, number uint32, total uint64, payload []byte) []byte {
	return append(appendHeader(nil, frame{size: len(payload), kind: k, flags: flagFirst, number: number, total: total}),
		payload...)
}

func textResponse(text string) []byte {
	res := tool.Text(text)
	return appendResponse(nil, &res, nil)
}

// try sends bytes. It may fail if the host has closed the stream.
func (p *peer) try(frames ...[]byte) error {
	for _, f := range frames {
		if _, err := p.rw.Write(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) send(frames ...[]byte) {
	p.t.Helper()
	if err := p.try(frames...); err != nil {
		p.t.Fatalf("the peer cannot send: %v", err)
	}
}

func (p *peer) answer(number uint32, text string) {
	p.t.Helper()
	p.send(raw(kindResult, number, textResponse(text)))
}

// read returns the next frame.
func (p *peer) read() (frame, []byte, error) {
	defer time.AfterFunc(ceiling, p.close).Stop()
	f, n, err := readHeader(p.in.Peek)
	if err != nil {
		return f, nil, err
	}
	_, _ = p.in.Discard(n)
	b := make([]byte, f.size)
	_, err = io.ReadFull(p.in, b)
	return f, b, err
}

// next returns the next frame, which must be of a kind.
func (p *peer) next(k kind) (frame, []byte) {
	p.t.Helper()
	f, b, err := p.read()
	if err != nil || f.kind != k {
		p.t.Fatalf("the peer got %+v, %v; want kind %d", f, err, k)
	}
	return f, b
}

// skipTo returns the next frame of a kind and skips all frames before it.
func (p *peer) skipTo(k kind) (frame, []byte) {
	p.t.Helper()
	for {
		f, b, err := p.read()
		if err != nil {
			p.t.Fatalf("the peer waits for kind %d: %v", k, err)
		}
		if f.kind == k {
			return f, b
		}
	}
}

// call returns the next call and ignores all frames before it.
func (p *peer) call() (uint32, request) {
	p.t.Helper()
	f, b := p.skipTo(kindCall)
	r, err := parseRequest(b, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return f.number, r
}

func window(bytes uint32) []byte { return binary.LittleEndian.AppendUint32(nil, bytes) }

// packets is a plugin in another language: the generated code, on a stock server.
type packets struct {
	pluginv1.UnimplementedToolPluginServer
	streams chan *packetStream
}

func (s *packets) Stream(g pluginv1.ToolPlugin_StreamServer) error {
	p := &packetStream{g: g, closed: make(chan struct{})}
	s.streams <- p
	select {
	case <-p.closed:
	case <-g.Context().Done():
	}
	return nil
}

// packetStream is either end of such a stream, as bytes.
type packetStream struct {
	g interface {
		Send(*pluginv1.Packet) error
		Recv() (*pluginv1.Packet, error)
	}
	rest   []byte
	closed chan struct{}
}

func (p *packetStream) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		m, err := p.g.Recv()
		if err != nil {
			return 0, err
		}
		p.rest = m.GetData()
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *packetStream) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += 1 << 20 {
		if err := p.g.Send(&pluginv1.Packet{Data: b[n:min(n+1<<20, len(b))]}); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

func (p *packetStream) Close() error { close(p.closed); return nil }

// streamingOf is a request whose caller wants deltas.
func streamingOf(c tool.Call) []byte {
	r := request{call: c, deltas: true}
	return appendRequest(nil, &r)
}
