package wire

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// plain is a carrier whose reads cannot be interrupted, like that of gRPC.
type plain struct{ c Carrier }

func (p plain) Read(b []byte) (int, error)            { return p.c.Read(b) }
func (p plain) Send(head []byte, body [][]byte) error { return p.c.Send(head, body) }
func (p plain) Close() error                          { return p.c.Close() }

// streamSeeds returns what plugins send, valid and invalid.
func streamSeeds() [][]byte {
	b := textResponse(strings.Repeat("x", 100))
	return [][]byte{
		nil,
		slices.Concat(raw(kindResult, 1, b), raw(kindResult, 2, b), raw(kindResult, 3, b)),
		slices.Concat(first(kindChunk, 1, uint64(len(b)), b[:9]), first(kindChunk, 2, 1000, b), raw(kindResult, 1, b[9:])),
		slices.Concat(raw(kindWindow, 3, window(1<<20)), raw(kindWindow, 3, window(1<<31)), raw(kindResult, 3, nil)),
		slices.Concat(raw(kindProgress, 2, appendProgress(nil, tool.Progress{Done: 1})),
			raw(kindLog, 0, appendLog(nil, "warn", "w")), raw(kindChanged, 0, nil)),
		slices.Concat(first(kindResult, 1, 1<<60, b), first(kindChunk, 2, MaxMessage, b), first(kindChunk, 3, 300_000, b),
			raw(kindAsk, 1, b), raw(99, 1, b)),
		slices.Concat(raw(kindCancel, 1, nil), raw(kindCall, 1, b)),
		slices.Concat(raw(kindAsk, 1, encodeQuestion(1, tool.Question{Message: "?"})),
			raw(kindAsk, 3, encodeQuestion(7, tool.Question{Message: "?", Schema: []byte("{")})),
			raw(kindAsk, 3, encodeQuestion(7, tool.Question{Message: "?"}))),
		slices.Concat(raw(kindDelta, 2, encodeDelta("a")), raw(kindDelta, 2, encodeDelta(strings.Repeat("é", 30_000))),
			raw(kindDelta, 2, nil), raw(kindResult, 2, textResponse("a"))),
		slices.Concat(raw(kindDelta, 1, encodeDelta("a")), raw(kindMore, 2, window(1)), raw(kindEnded, 0, nil)),
		first(kindChunk, 1, 5, nil)[:14],
		appendHeader(nil, frame{size: maxFrame + 1, kind: kindResult, number: 1}),
	}
}

// waitForever is an asker whose person never answers.
func waitForever(ctx context.Context, _ tool.Question) (tool.Answer, error) {
	<-ctx.Done()
	return tool.Answer{}, ctx.Err()
}

// Whatever a plugin sends, each call ends, nothing panics, and memory stays in proportion.
func FuzzStreamFrames(f *testing.F) {
	for i, b := range streamSeeds() {
		f.Add(b, i%2 == 0, uint8(i))
	}
	large := make([]byte, 300_000)
	f.Fuzz(func(t *testing.T, b []byte, interruptible bool, step uint8) {
		host, plugin := net.Pipe()
		c := NewSocket(host)
		if !interruptible {
			c = plain{c}
		}
		hooks := recordingHooks(make(chan struct{}, 1<<16), make(chan string, logRate*60))
		hooks.Asks = true
		s := NewStream(c, hooks)
		go func() { _, _ = io.Copy(io.Discard, plugin) }()
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		short, stop := limits["ours"](ctx, time.Hour)
		defer stop()
		calls := []<-chan outcome{
			begin(short, s, tool.Call{Name: "x"}),
			begin(tool.WithDeltas(tool.WithProgress(ctx, func(tool.Progress) {}), func(tool.Delta) {}), s, tool.Call{Name: "x"}),
			begin(tool.WithAsker(ctx, waitForever), s, tool.Call{Name: "x", Arguments: large}),
		}
		for s.awaited.Load() < 3 && s.Err() == nil {
			runtime.Gosched()
		}
		piece := int(step)*7 + 1
		for rest := b; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			if _, err := plugin.Write(rest[:min(piece, len(rest))]); err != nil {
				break // the host has closed the stream
			}
		}
		_ = plugin.Close()
		for _, c := range calls {
			o := within(t, "a call", c)
			if o.err != nil && tool.CodeOf(o.err) == "" {
				t.Errorf("an error with no code: %v", o.err)
			}
		}
		within(t, "the end", s.Failed())
		if !interruptible {
			return
		}
		s.readToken <- struct{}{} // the reader has returned
		kept := 0
		for _, m := range s.in.messages {
			kept += cap(m.buf)
		}
		if limit := 3*firstWindow + len(b); kept > limit {
			t.Errorf("%d bytes are kept of %d", kept, len(b))
		}
	})
}

// Whatever a host sends, the service ends with the carrier, and its calls are answered.
func FuzzServeFrames(f *testing.F) {
	call := requestOf(tool.Call{ID: "i", Name: "echo", Arguments: []byte(strings.Repeat("a", 100))})
	for i, b := range [][]byte{
		nil,
		slices.Concat(raw(kindCall, 1, call), raw(kindCall, 2, call), raw(kindCancel, 1, nil)),
		slices.Concat(first(kindChunk, 1, uint64(len(call)), call[:9]), raw(kindCall, 2, call), raw(kindCall, 1, call[9:])),
		slices.Concat(raw(kindCall, 1, requestOf(tool.Call{Name: "large"})), raw(kindWindow, 1, window(1<<20)),
			raw(kindCancel, 1, nil)),
		slices.Concat(raw(kindCall, 1, requestOf(tool.Call{Name: "wait"})), raw(kindCall, 1, call), raw(kindCancel, 1, nil)),
		slices.Concat(raw(kindCall, 1, requestOf(tool.Call{Name: "goexit"})), raw(kindCall, 1, call)),
		slices.Concat(raw(kindCall, 1, askingOf(tool.Call{Name: "ask"})), raw(kindAnswer, 1, encodeAnswer(1, tool.Answer{}, nil)),
			raw(kindAnswer, 1, encodeAnswer(9, tool.Answer{}, nil)), raw(kindAnswer, 8, nil), raw(kindAnswer, 1, []byte{0xff})),
		slices.Concat(raw(kindCall, 1, streamingOf(tool.Call{Name: "stream"})), raw(kindMore, 1, window(1<<20)),
			raw(kindMore, 1, window(0)), raw(kindMore, 7, window(1)), raw(kindCancel, 1, nil), raw(kindMore, 1, nil)),
		slices.Concat(raw(kindEnded, 0, []byte{0xa, 1, 'a'}), raw(kindEnded, 0, []byte{0xff}), raw(kindCall, 1, call)),
		first(kindChunk, 1, 1<<60, nil), first(kindChunk, 1, 5, nil)[:14],
		slices.Concat(raw(99, 1, call), raw(kindResult, 1, call), raw(kindWindow, 1, nil)),
	} {
		f.Add(b, uint8(i))
	}
	text := strings.Repeat("x", 300_000)
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		host, plugin := net.Pipe()
		server := &Server{Provider: handlers{
			"echo":  echo,
			"large": func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil },
			"wait": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				<-ctx.Done()
				return tool.Result{}, ctx.Err()
			},
			"ask": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				_, err := tool.Ask(ctx, tool.Question{Message: "?"})
				return tool.Result{}, err
			},
			"stream": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				_, err := tool.Stream(ctx).WriteString(text)
				return tool.Result{}, err
			},
			"goexit": func(context.Context, tool.Call) (tool.Result, error) { runtime.Goexit(); return tool.Result{}, nil },
		}}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(context.Background(), NewSocket(plugin)) }()
		go func() { _, _ = io.Copy(io.Discard, host) }()
		piece := int(step)*7 + 1
		for rest := b; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			if _, err := host.Write(rest[:min(piece, len(rest))]); err != nil {
				break
			}
		}
		_ = host.Close()
		_ = within(t, "the end", ended)
	})
}
