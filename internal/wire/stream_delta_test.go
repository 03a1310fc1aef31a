package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shownTo collects what a call shows.
func shownTo(ctx context.Context) (context.Context, *strings.Builder) {
	var shown strings.Builder
	return tool.WithDeltas(ctx, func(d tool.Delta) { shown.WriteString(d.Text) }), &shown
}

// A caller gets the text while the tool still runs, in order; one that does not ask gets the
// result alone, which is the same.
func TestStreamDeltas(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		goOn := make(chan string)
		s := serve(t, carrier, handlers{"stream": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for text := range goOn {
				if _, err := io.WriteString(tool.Stream(ctx), text); err != nil {
					return tool.Result{}, err
				}
			}
			return tool.Text("last"), nil
		}}, StreamHooks{})
		came := make(chan string, 100)
		c := begin(tool.WithDeltas(t.Context(), func(d tool.Delta) { came <- d.Text }), s, tool.Call{Name: "stream"})
		whole := ""
		for _, piece := range []string{"first ", "é", " " + strings.Repeat("x", 3*deltaWindow), " end"} {
			goOn <- piece
			for got := ""; got != piece; {
				if got += within(t, "a delta", came); !strings.HasPrefix(piece, got) {
					t.Fatalf("%.40q comes as %.40q", piece, got)
				}
			}
			whole += piece
		}
		close(goOn)
		o := within(t, "the call", c)
		wantText(t, o, whole+"\nlast")
		if len(o.res.Content) != 2 || len(came) > 0 {
			t.Errorf("%d blocks, %d deltas more", len(o.res.Content), len(came))
		}
	})
}

// A caller that is slow to show the text delays neither the tool nor others, and little is kept
// for it.
func TestStreamSlowReader(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		text := strings.Repeat("a line of text\n", 100_000)
		s := serve(t, carrier, handlers{"echo": echo,
			"stream": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				for rest := text; rest != ""; rest = rest[15:] {
					if _, err := tool.Stream(ctx).WriteString(rest[:15]); err != nil {
						return tool.Result{}, err
					}
				}
				return tool.Result{}, nil
			}}, StreamHooks{})
		busy, let := make(chan struct{}, 1), make(chan struct{})
		var pieces int
		ctx, shown := shownTo(t.Context())
		inner := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{})
		c := begin(tool.WithDeltas(t.Context(), func(d tool.Delta) {
			if inner(d); pieces == 0 {
				busy <- struct{}{}
				<-let
			}
			pieces++
		}), s, tool.Call{Name: "stream"})
		within(t, "the first delta", busy)
		wantText(t, within(t, "another call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("{}")})), "{}")
		require.Eventually(t, "the result is there", func() bool { calls, _ := s.table(); return calls == 0 })
		close(let)
		wantText(t, within(t, "the slow call", c), text)
		if !strings.HasPrefix(text, shown.String()) || shown.Len() > 3*deltaWindow {
			t.Errorf("%d bytes were shown, or not how the text begins", shown.Len())
		}
	})
}

// What is written after the handler has returned, or when its caller has gone, is refused.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		var kept atomic.Value
		gone := make(chan error, 1)
		s := serve(t, carrier, handlers{
			"keep": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				kept.Store(tool.Stream(ctx))
				_, err := tool.Stream(ctx).WriteString("kept")
				return tool.Result{}, err
			},
			"wait": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				_, _ = tool.Stream(ctx).WriteString("begun")
				<-ctx.Done()
				_, err := tool.Stream(ctx).WriteString("more")
				gone <- err
				return tool.Result{}, err
			},
			"fail": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				_, _ = tool.Stream(ctx).WriteString("begun")
				return tool.Result{}, tool.Errorf(tool.CodeToolFailed, "failed")
			},
		}, StreamHooks{})
		wantText(t, within(t, "the call", begin(t.Context(), s, tool.Call{Name: "keep"})), "kept")
		if _, err := kept.Load().(tool.TextWriter).WriteString("x"); tool.CodeOf(err) != tool.CodeCanceled {
			t.Errorf("after the end: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := begin(tool.WithDeltas(ctx, func(tool.Delta) { cancel() }), s, tool.Call{Name: "wait"})
		_ = wantCode(t, within(t, "the call", c), tool.CodeCanceled)
		assert.ErrorIsf(t, within(t, "the handler", gone), context.Canceled, "when its caller has gone")
		ctx, shown := shownTo(t.Context())
		_ = wantCode(t, within(t, "the call", begin(ctx, s, tool.Call{Name: "fail"})), tool.CodeToolFailed)
		if got := shown.String(); got != "begun" && got != "" {
			t.Errorf("shown: %q", got)
		}
	})
}

// What a plugin may not do with deltas ends its stream. What it cannot know yet does not.
func TestStreamBadDeltas(t *testing.T) {
	t.Parallel()
	delta := func(n uint32, text string) []byte { return raw(kindDelta, n, encodeDelta(text)) }
	for name, bad := range map[string]func(number uint32) []byte{
		"of no call":          func(uint32) []byte { return delta(12345, "x") },
		"of the stream":       func(uint32) []byte { return delta(0, "x") },
		"after the result":    func(n uint32) []byte { return append(raw(kindResult, n, textResponse("x")), delta(n, "x")...) },
		"not wanted":          func(n uint32) []byte { return delta(n+1, "x") },
		"not protobuf":        func(n uint32) []byte { return raw(kindDelta, n, []byte{0xff}) },
		"not UTF-8":           func(n uint32) []byte { return raw(kindDelta, n, []byte{0x0a, 1, 0xff}) },
		"beyond the window":   func(n uint32) []byte { return delta(n, strings.Repeat("x", deltaWindow+1)) },
		"a host's own frame":  func(n uint32) []byte { return raw(kindMore, n, window(1)) },
		"the end of sessions": func(uint32) []byte { return raw(kindEnded, 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onCarriers(t, func(t *testing.T, carrier string) {
				s, p := withPeer(t, carrier, StreamHooks{})
				ctx, _ := shownTo(t.Context())
				c := begin(ctx, s, tool.Call{Name: "a"})
				number, r := p.call()
				if !r.deltas {
					t.Error("the plugin is not told that deltas are wanted")
				}
				other := begin(t.Context(), s, tool.Call{Name: "b"})
				if _, r := p.call(); r.deltas {
					t.Error("the plugin is told that deltas are wanted")
				}
				p.send(bad(number))
				if o := within(t, "another call", other); !errors.Is(o.err, ErrProtocol) {
					t.Errorf("got %v, want a violation", o.err)
				}
				within(t, "the call", c)
			})
		})
	}
	t.Run("of a call that was given up", func(t *testing.T) {
		t.Parallel()
		onCarriers(t, func(t *testing.T, carrier string) {
			s, p := withPeer(t, carrier, StreamHooks{})
			ctx, cancel := context.WithCancel(t.Context())
			ctx, _ = shownTo(ctx)
			c := begin(ctx, s, tool.Call{Name: "a"})
			number, _ := p.call()
			cancel()
			_ = wantCode(t, within(t, "the call", c), tool.CodeCanceled)
			p.send(delta(number, strings.Repeat("x", deltaWindow)), delta(number, strings.Repeat("x", deltaWindow)))
			p.answer(number, "late")
			next := begin(t.Context(), s, tool.Call{Name: "b"})
			n, _ := p.call()
			p.answer(n, "on")
			wantText(t, within(t, "another call", next), "on")
		})
	})
}

// A flood of deltas is paced, and bounded by the window: the plugin gets to send more only as the
// caller takes what came.
func TestStreamDeltaFlood(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		var paced atomic.Int64
		s, p := withPeer(t, carrier, StreamHooks{Pace: func(n int) { paced.Add(int64(n)) }})
		ctx, shown := shownTo(t.Context())
		c := begin(ctx, s, tool.Call{Name: "a"})
		number, _ := p.call()
		for range 3 {
			for range 8 {
				p.send(raw(kindDelta, number, encodeDelta(strings.Repeat("x", deltaWindow/8))))
			}
			for left := deltaWindow; left > 0; {
				f, b := p.skipTo(kindMore)
				if f.number != number || len(b) != 4 {
					t.Fatalf("a frame for %d with %d bytes", f.number, len(b))
				}
				left -= int(b[0]) | int(b[1])<<8 | int(b[2])<<16
			}
		}
		if paced.Load() > 0 {
			t.Errorf("%d bytes of large deltas are paced", paced.Load())
		}
		for range 100 {
			p.send(raw(kindDelta, number, encodeDelta("x")), raw(kindDelta, number, nil))
		}
		p.answer(number, "done")
		wantText(t, within(t, "the call", c), "done")
		if shown.Len() != 3*deltaWindow+100 || paced.Load() == 0 {
			t.Errorf("%d bytes shown, %d paced", shown.Len(), paced.Load())
		}
	})
}
