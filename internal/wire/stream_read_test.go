package wire

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The reader is canceled at every point of another call's frame. It returns, and the frame
// is not lost.
func TestStreamLeaderLeavesMidway(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxFrame-100)
	chunks := textResponse(strings.Repeat("y", 100_000))
	for _, c := range []struct {
		name string
		text string
		sent func(number uint32) []byte
		cuts []int
	}{
		{"header", "answer", func(n uint32) []byte { return raw(kindResult, n, textResponse("answer")) }, []int{1, 4, 11}},
		{"small payload", "answer", func(n uint32) []byte { return raw(kindResult, n, textResponse("answer")) },
			[]int{12, 13, 15}},
		{"large payload", large, func(n uint32) []byte { return raw(kindResult, n, textResponse(large)) },
			[]int{12, 4000, 70_000, 100_000}},
		{"chunks", strings.Repeat("y", 100_000), func(n uint32) []byte {
			return append(first(kindChunk, n, uint64(len(chunks)), chunks[:60_000]), raw(kindResult, n, chunks[60_000:])...)
		}, []int{12, 13, 19, 20, 21, 30_000, 60_020, 60_025, 60_032, 60_033}},
	} {
		for _, cut := range c.cuts {
			t.Run(fmt.Sprintf("%s at %d", c.name, cut), func(t *testing.T) {
				t.Parallel()
				s, p := withPeer(t, onSocket, StreamHooks{})
				ctx, cancel := context.WithCancel(t.Context())
				leader := begin(ctx, s, tool.Call{Name: "leader"})
				leading, _ := p.call()
				require.Eventually(t, "it reads", func() bool { return len(s.readToken) == 1 && !s.idling.Load() })
				other := begin(t.Context(), s, tool.Call{Name: "other"})
				number, _ := p.call()

				frames := c.sent(number)
				p.send(frames[:cut])
				// A log line sent first would be read in the same go, so no event tells how
				// far the reader is. It may be anywhere up to the cut.
				cancel()
				_ = wantCode(t, within(t, "the leader", leader), tool.CodeCanceled)
				p.next(kindCancel)
				p.send(frames[cut:])
				wantText(t, within(t, "the other", other), c.text)
				p.answer(leading, "late")
				settled(t, s)
			})
		}
	}
}

// A peer that sends a byte at a time delays no deadline, and its answers arrive.
func TestStreamTrickle(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		patient := begin(t.Context(), s, tool.Call{Name: "patient"})
		number, _ := p.call()
		own, stop := limits["ours"](t.Context(), 500*time.Millisecond)
		defer stop()
		late := begin(own, s, tool.Call{Name: "late"})
		owed, _ := p.call()
		b := textResponse("slowly")
		message := append(first(kindChunk, number, uint64(len(b)), b[:3]), raw(kindResult, number, b[3:])...)
		for i := range message {
			p.send(message[i : i+1])
			if i == len(message)/2 {
				_ = wantCode(t, within(t, "the late call", late), tool.CodeDeadlineExceeded)
			}
		}
		wantText(t, within(t, "the patient call", patient), "slowly")
		p.answer(owed, "late")
		settled(t, s)
	})
}

// While there are no calls, a goroutine reads: before the first call, between calls, and
// while a plugin owes the answer of an abandoned call.
func TestStreamIdle(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		changed, logged := make(chan struct{}, 1), make(chan string, 1)
		s, p := withPeer(t, carrier, recordingHooks(changed, logged))
		notices := func(when string) {
			t.Helper()
			p.send(raw(kindChanged, 0, nil), raw(kindLog, 0, appendLog(nil, "info", when)))
			within(t, "the change notice "+when, changed)
			if got := within(t, "the log "+when, logged); got != "info:"+when+"@" && got != "INFO:"+when+"@" {
				t.Errorf("%s: got %q", when, got)
			}
		}
		notices("before the first call")
		for i := range 3 {
			c := begin(t.Context(), s, tool.Call{Name: "x"})
			number, _ := p.call()
			p.answer(number, "on")
			wantText(t, within(t, "a call", c), "on")
			notices(fmt.Sprintf("after call %d", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := begin(ctx, s, tool.Call{Name: "x"})
		number, _ := p.call()
		cancel()
		_ = wantCode(t, within(t, "a cancelled call", c), tool.CodeCanceled)
		p.next(kindCancel)
		notices("while an answer is owed")
		p.answer(number, "late")
		settled(t, s)
		p.close()
		within(t, "the end while idle", s.Failed())
	})
}

// The first call after a pause takes over from the idle reader, whatever that is doing.
func TestStreamIdleAndBusy(t *testing.T) {
	t.Parallel()
	s := serve(t, onSocket, handlers{"echo": echo}, StreamHooks{})
	for range 8 {
		wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		require.Eventually(t, "it idles", s.idling.Load)
	}
	for i := range 200 { // around the moment at which the idle reader starts
		wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		if i%20 == 0 {
			time.Sleep(2*idleAfter - time.Duration(i)*100*time.Microsecond)
		}
	}
	require.Eventually(t, "it idles", s.idling.Load)
}

// A long text is checked once, while it arrives: what is not UTF-8 is replaced wherever it stands, and in each block.
func TestLongTextsAreUTF8(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 20_000)
	at := func(i int, s string) string { return long[:i] + s + long[i:] }
	for name, texts := range map[string][]string{
		"ASCII":                     {long},
		"at the beginning":          {at(0, "\xff")},
		"at a chunk's end":          {at(chunkSize-30, strings.Repeat("\xe2\x82\xac\xff", 20))},
		"within the last bytes":     {at(len(long)-3, "\xff")},
		"last":                      {at(len(long), "\xc3")},
		"in the first of two":       {at(100_000, "\xff"), long},
		"in the second of two":      {long, at(100_000, "\xff")},
		"each a part of one letter": {at(len(long), "\xe2\x82"), at(0, "\xac")},
	} {
		onCarriers(t, func(t *testing.T, carrier string) {
			t.Helper()
			var sent, want tool.Result
			for _, text := range texts {
				sent.Content = append(sent.Content, tool.TextContent{Text: text})
				want.Content = append(want.Content, tool.TextContent{Text: strings.ToValidUTF8(text, "\uFFFD")})
			}
			s := serve(t, carrier, handlers{"long": func(context.Context, tool.Call) (tool.Result, error) { return sent, nil }}, StreamHooks{})
			if o := within(t, name, begin(t.Context(), s, tool.Call{Name: "long"})); o.err != nil || !reflect.DeepEqual(o.res, want) {
				t.Errorf("%s: it is other text, %v", name, o.err)
			}
		})
	}
}

func TestLastBeyondASCII(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		b := bytes.Repeat([]byte("a"), n)
		if i := lastBeyondASCII(b); i != -1 {
			t.Errorf("%d of %d", i, n)
		}
		for i := range n {
			b[i] = 0x80 // and all before it
			if got := lastBeyondASCII(b); got != i {
				t.Errorf("%d in place of %d of %d", got, i, n)
			}
		}
	}
}
