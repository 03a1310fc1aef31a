package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// withHost starts a service whose host is a peer, which uses stock gRPC on that carrier.
// The channel receives the error that Serve returns.
func withHost(t testing.TB, carrier string, p tool.Provider) (*peer, <-chan error) {
	t.Helper()
	server := &Server{Provider: p}
	ended := make(chan error, 1)
	if carrier == onGRPC {
		g := newGRPCServer([]grpc.ServerOption{grpc.StreamInterceptor(
			func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
				err := handle(srv, ss)
				ended <- err
				return err
			})})
		Register(g, server)
		client := require.Must(pluginv1.NewToolPluginClient(dialTo(t, g)).Stream(t.Context()))(t)
		end := &packetStream{g: client, closed: make(chan struct{})}
		go func() { <-end.closed; _ = client.CloseSend() }()
		return newPeer(t, end), ended
	}
	a, b := socketPair(t)
	go func() { ended <- server.Serve(context.Background(), NewSocket(b)) }()
	return newPeer(t, a), ended
}

func requestOf(c tool.Call) []byte { return appendRequest(nil, &request{call: c}) }

// ask sends a call in one frame.
func (p *peer) ask(number uint32, c tool.Call) {
	p.t.Helper()
	p.send(raw(kindCall, number, requestOf(c)))
}

// result returns the next result, assembled from its chunks without granting a window.
func (p *peer) result() (number uint32, o outcome) {
	p.t.Helper()
	f, b := p.skipTo(kindResult)
	if len(b) == 0 {
		return f.number, outcome{}
	}
	res, err := parseResponse(b)
	return f.number, outcome{res, err}
}

// on checks that the service still answers.
func (p *peer) on(number uint32) {
	p.t.Helper()
	p.ask(number, tool.Call{Name: "echo", Arguments: []byte("on")})
	got, o := p.result()
	if got != number {
		p.t.Errorf("an answer to %d, want %d", got, number)
	}
	wantText(p.t, o, "on")
}

// Frames that no host may send end the service, without a panic.
func TestServeProtocolErrors(t *testing.T) {
	t.Parallel()
	kib := make([]byte, chunkSize)
	for name, sent := range map[string][]byte{
		"frame too large":     appendHeader(nil, frame{size: maxFrame + 1, kind: kindCall, number: 1}),
		"frame of 4 GiB":      append([]byte{255, 255, 255, 255}, raw(kindCall, 1, nil)[4:]...),
		"chunk without first": raw(kindChunk, 1, kib[:10]),
		"first twice":         append(first(kindChunk, 1, 100, kib[:10]), first(kindChunk, 1, 100, kib[:10])...),
		"window overflow": append(first(kindChunk, 1, firstWindow+4*chunkSize, kib),
			[]byte(strings.Repeat(string(raw(kindChunk, 1, kib)), 20))...),
		"longer than said":  first(kindChunk, 1, 9, kib[:10]),
		"shorter than said": append(first(kindChunk, 1, 20, kib[:10]), raw(kindCall, 1, kib[:9])...),
		"too large":         first(kindChunk, 1, math.MaxUint64, kib),
		"no request":        raw(kindCall, 1, []byte{0xff, 0xff}),
		"empty window":      raw(kindWindow, 1, nil),
		"long window":       raw(kindWindow, 1, kib[:5]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onCarriers(t, func(t *testing.T, carrier string) {
				p, ended := withHost(t, carrier, handlers{"echo": echo})
				p.on(7)
				_ = p.try(sent)
				if err := within(t, "the end of the service", ended); err == nil {
					t.Error("it ended as if the host had closed it")
				}
			})
		})
	}
}

// The service ignores frames that it does not know or cannot use.
func TestServeSkips(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		p, ended := withHost(t, carrier, handlers{"echo": echo})
		p.on(1)
		for _, size := range []int{0, 1, 4096, maxFrame} {
			for _, k := range []kind{0, 99, 255, kindResult, kindProgress, kindAsk, kindChanged, kindLog, kindAnswer} {
				p.send(raw(k, 1, make([]byte, size)))
			}
			p.send(first(99, 1, math.MaxUint64, make([]byte, size)), raw(kindCancel, 1, make([]byte, size)))
		}
		for _, n := range []uint32{0, 1, 2, math.MaxUint32} { // answered, never made, no number
			p.send(raw(kindCancel, n, nil), raw(kindWindow, n, window(math.MaxUint32)), raw(kindWindow, n, window(0)))
		}
		p.on(0)
		p.on(math.MaxUint32)
		p.on(1)
		p.send(raw(kindCall, 2, nil)) // an empty request names no tool
		_, o := p.result()
		_ = wantCode(t, o, tool.CodeNotFound)
		p.close()
		if err := within(t, "the end", ended); err != nil {
			t.Errorf("the host closed it: %v", err)
		}
	})
}

// A host can cancel a call at any point. Each call that the plugin has received is
// answered once, and leaves nothing behind.
func TestServeCancel(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		began, told := make(chan struct{}), make(chan struct{})
		p, _ := withHost(t, carrier, handlers{"echo": echo,
			"wait": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				began <- struct{}{}
				<-ctx.Done()
				told <- struct{}{}
				return tool.Text(strings.Repeat("x", 1<<20)), nil // for a caller that no longer waits
			}, "large": func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Text(strings.Repeat("x", 8<<20)), nil
			}})
		short := func(number uint32) {
			t.Helper()
			f, b := p.skipTo(kindResult)
			if f.number != number || len(b) > 1000 {
				t.Errorf("an answer to %d with %d bytes, want a short one to %d", f.number, len(b), number)
			}
		}
		// While the request is received.
		args := requestOf(tool.Call{Name: "echo", Arguments: make([]byte, 1<<20)})
		p.send(first(kindChunk, 1, uint64(len(args)), args[:chunkSize]), raw(kindCancel, 1, nil))
		short(1)
		// While the handler runs.
		p.ask(2, tool.Call{Name: "wait"})
		within(t, "the handler", began)
		p.send(raw(kindCancel, 2, nil), raw(kindCancel, 2, nil))
		within(t, "the handler's context", told)
		short(2)
		// While the result is sent, when the first window is used up.
		p.ask(3, tool.Call{Name: "large"})
		for range firstWindow / chunkSize {
			p.next(kindChunk)
		}
		p.send(raw(kindCancel, 3, nil))
		short(3)
		p.send(raw(kindWindow, 3, window(math.MaxUint32))) // too late
		// Answered.
		p.send(raw(kindCancel, 3, nil))
		p.on(4)
		p.on(3)
	})
}

// A cancel that arrives while a large result is encoded is not lost.
func TestServeCancelMeetsResult(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		text := strings.Repeat("x", 1<<20)
		let := make(chan struct{})
		p, _ := withHost(t, carrier, handlers{"echo": echo, "large": func(context.Context, tool.Call) (tool.Result, error) {
			<-let
			return tool.Text(text), nil
		}})
		turns := byDay(60, 200)
		for i := range uint32(turns) { //nolint:gosec // small
			number := 2*i + 1
			p.ask(number, tool.Call{Name: "large"})
			p.on(number + 1) // another goroutine reads now
			go func() { let <- struct{}{} }()
			time.Sleep(time.Duration(i) * time.Millisecond / time.Duration(turns)) // the cancel comes before, while or after
			p.send(raw(kindCancel, number, nil))
			if got, _ := p.result(); got != number {
				t.Fatalf("an answer to %d, want %d", got, number)
			}
		}
	})
}

// slowError is an error whose Error method is slow.
type slowError struct {
	asked chan struct{}
	let   chan struct{}
}

func (e slowError) Error() string {
	select {
	case e.asked <- struct{}{}:
		<-e.let
	case <-e.let:
	}
	return strings.Repeat("x", 1<<20)
}

// The same at the worst moment: the handler has returned, and its result is not queued
// yet.
func TestServeCancelMeetsAnswer(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		for range 5 {
			handler := make(chan struct{})
			e := slowError{make(chan struct{}), make(chan struct{})}
			p, _ := withHost(t, carrier, handlers{"echo": echo, "odd": func(context.Context, tool.Call) (tool.Result, error) {
				<-handler
				return tool.Result{}, e
			}})
			p.ask(1, tool.Call{Name: "odd"})
			p.on(2) // another goroutine reads now
			close(handler)
			within(t, "the error is asked", e.asked)
			p.send(raw(kindCancel, 1, nil))
			p.on(3) // the cancel was read
			close(e.let)
			if f, b := p.skipTo(kindResult); f.number != 1 || len(b) > 1000 {
				t.Errorf("an answer to %d with %d bytes, want a short one", f.number, len(b))
			}
		}
	})
}

// Handlers that panic, exit their goroutine or never return leave the service working.
func TestServeOddHandlers(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		slow := func(f func()) tool.Handler {
			return func(context.Context, tool.Call) (tool.Result, error) {
				time.Sleep(4 * takeOverAfter) // until another goroutine reads
				f()
				return tool.Result{}, errors.New("it returned")
			}
		}
		quick := func(f func()) tool.Handler {
			return func(context.Context, tool.Call) (tool.Result, error) {
				f()
				return tool.Result{}, errors.New("it returned")
			}
		}
		tools := []tool.Tool{{Definition: tool.Definition{Name: "echo", Description: "d", Safety: tool.Safe}, Handler: echo}}
		for name, h := range map[string]tool.Handler{
			"goexit": quick(runtime.Goexit), "goexit late": slow(runtime.Goexit),
			"panic": quick(func() { panic("odd") }), "panic late": slow(func() { panic("odd") }),
		} {
			tools = append(tools, tool.Tool{
				Definition: tool.Definition{Name: strings.ReplaceAll(name, " ", "_"), Description: "d", Safety: tool.Safe},
				Handler:    h,
			})
		}
		set := require.Must(tool.NewSet(tools...))(t)
		p, _ := withHost(t, carrier, set)
		number := uint32(0)
		for range 5 {
			for _, d := range tools[1:] {
				number++
				p.ask(number, tool.Call{Name: d.Name})
				got, o := p.result()
				if e := wantCode(t, o, tool.CodeToolFailed); got != number || strings.Contains(e.Message, "it returned") {
					t.Errorf("%s: call %d got %+v", d.Name, got, e)
				}
				number++
				p.on(number)
			}
		}
	})
}

// Thousands of calls of a handler that blocks delay no other call, and end with the
// service.
func TestServeThousandsBlocked(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		const calls = 1500
		let, began := make(chan struct{}), make(chan struct{}, calls)
		p, ended := withHost(t, carrier, handlers{"echo": echo,
			"wait": func(context.Context, tool.Call) (tool.Result, error) {
				began <- struct{}{}
				<-let
				return tool.Text("on"), nil
			}})
		for i := range uint32(calls) {
			p.ask(i+1, tool.Call{Name: "wait"})
		}
		for range calls {
			within(t, "the handlers", began)
		}
		p.on(calls + 1)
		for i := range uint32(100) {
			p.send(raw(kindCancel, i+1, nil)) // which they ignore
		}
		p.on(calls + 2)
		close(let)
		seen := map[uint32]bool{}
		for range calls {
			number, o := p.result()
			if seen[number] || number > calls {
				t.Fatalf("an answer to %d, again or never asked", number)
			}
			if seen[number] = true; number > 100 {
				wantText(t, o, "on")
			}
		}
		p.on(calls + 3)
		p.close()
		assert.NoError(t, within(t, "the end", ended))
	})
}

// A host that announces large messages and sends nothing costs little memory.
func TestServePromises(t *testing.T) { //nolint:paralleltest // it measures
	p, _ := withHost(t, onSocket, handlers{"echo": echo})
	used := heap(func() {
		for i := range uint32(100) {
			p.send(first(kindChunk, i+1, MaxMessage, []byte("x")))
		}
		p.on(1000)
	})
	if limit := uint64(100*firstWindow + 32<<20); used > limit {
		t.Errorf("%d MiB are in use", used>>20)
	}
	for i := range uint32(100) {
		p.send(raw(kindCancel, i+1, nil))
	}
	for range 100 {
		_, o := p.result()
		_ = wantCode(t, o, tool.CodeCanceled)
	}
	p.on(1001)
}

// The host's deadline reaches the handler, as do the call's fields.
func TestServeRequest(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		p, _ := withHost(t, carrier, handlers{"look": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			left := time.Duration(0)
			if at, ok := ctx.Deadline(); ok {
				left = time.Until(at).Round(time.Hour)
			}
			return tool.Text(fmt.Sprint(c.ID, c.Name, c.Session, string(c.Arguments), left, callctx.Get[func(tool.Progress)](ctx, callctx.Progress{}) != nil)), nil
		}, "late": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}})
		c := tool.Call{ID: "id", Name: "look", Session: "s", Arguments: []byte("{}")}
		p.send(raw(kindCall, 1, appendRequest(nil, &request{call: c, timeout: time.Hour, progress: true})))
		_, o := p.result()
		wantText(t, o, "idlooks{}1h0m0s true")
		p.ask(2, c)
		_, o = p.result()
		wantText(t, o, "idlooks{}0s false")
		p.send(raw(kindCall, 3, appendRequest(nil, &request{call: tool.Call{Name: "late"}, timeout: time.Millisecond})))
		_, o = p.result()
		_ = wantCode(t, o, tool.CodeDeadlineExceeded)
	})
}
