package wire

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin cannot stop the time of its calls, and a host can for as long as may be, however often it says so.
func TestWaitsIsBounded(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string]StreamHooks{"plugin": {Asks: true}, "host": {Asks: true, Waits: 50 * time.Millisecond}} {
		for _, asker := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, p := withPeer(t, onSocket, hooks)
				end := time.Now().Add(50 * time.Millisecond)
				var ctx context.Context = deadline.New(t.Context(), end, nil)
				if asker {
					asks := tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{}, nil })
					limit := deadline.NewPausable(asks, end, nil, time.Time{}, nil)
					defer limit.Cancel(nil)
					ctx = limit
				}
				c := begin(ctx, s, tool.Call{Name: "x"})
				number, _ := p.call()
				for _, sign := range []byte{1, 1, 0, 0, 1, 0, 1} {
					p.send(raw(kindWaits, number, []byte{sign}))
				}
				_ = wantCode(t, within(t, "the call", c), tool.CodeDeadlineExceeded)
				if time.Since(end) < hooks.Waits-time.Millisecond {
					t.Errorf("it ended %v after its time", time.Since(end))
				}
			})
		}
	}
}

// What is not such a sign ends the link.
func TestWaitsMalformed(t *testing.T) {
	t.Parallel()
	for _, sign := range [][]byte{nil, {2}, {1, 1}} {
		s, p := withPeer(t, onSocket, StreamHooks{Waits: time.Hour})
		c := begin(t.Context(), s, tool.Call{Name: "x"})
		number, _ := p.call()
		_ = p.try(raw(kindWaits, number, sign))
		if o := within(t, "the call", c); !errors.Is(o.err, ErrProtocol) {
			t.Errorf("%v: %v", sign, o.err)
		}
	}
}
