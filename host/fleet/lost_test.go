package fleet_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A message is lost after which nothing more is sent on its link. Whoever waits for the answer is told
// within seconds, though no connection is lost and the deadline of the call is far away.
func TestLastMessageLost(t *testing.T) { //nolint:paralleltest // bubbles are alone
	const request, reply = ".s", ".c"        // the ends of the subjects of a link
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		tool, lost string
		runs       int32
	}{
		"request, repeatable": {"again", request, 1},
		"reply, repeatable":   {"again", reply, 2},
		"request, once":       {"once", request, 0},
		"reply, once":         {"once", reply, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *site) {
				p := s.proxied(t)
				var runs atomic.Int32
				run := func(context.Context, tool.Call) (tool.Result, error) {
					runs.Add(1)
					return tool.Text("done"), nil
				}
				for _, name := range []string{"b", "c"} {
					join(t, s.config(name, share("*")), handler("again", run, idempotent), handler("once", run))
				}
				a := join(t, s.config("a", mount("*"), at(p)))
				a.shared(t, c.tool, 1, 2)
				lost := p.loseOne(func(_ bool, subject string) bool { return strings.HasSuffix(subject, c.lost) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				begin := time.Now()
				_, err := a.Execute(ctx, tool.Call{Name: c.tool})
				switch {
				case c.tool == "again" && err != nil:
					t.Error(err)
				case c.tool == "once" && (tool.CodeOf(err) != tool.CodeUnavailable || tool.AsError(err).Unsent):
					t.Errorf("%v", err)
				}
				if !lost.Load() {
					t.Error("no message was lost")
				}
				if n := runs.Load(); n != c.runs {
					t.Errorf("it ran %d times", n)
				}
				if took := time.Since(begin); took > promisedEnd {
					t.Errorf("the call ended after %v", took)
				} else {
					t.Logf("after %v", took)
				}
			})
		})
	}
}

// promisedEnd is how soon a call ends whose message was lost.
const promisedEnd = 2100 * time.Millisecond

// loseOne has the next message of a link be lost that is as it should be.
func (p *proxy) loseOne(is func(toServer bool, subject string) bool) (lost *atomic.Bool) {
	lost = new(atomic.Bool)
	p.lose(func(toServer bool, subject string) bool {
		return strings.HasPrefix(subject, "toolhost.v1.l.") && is(toServer, subject) && !lost.Swap(true)
	})
	return lost
}

// What a host shares is read again if a message of the reading is lost.
func TestIndexLost(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		p := s.proxied(t)
		lost := p.loseOne(func(toServer bool, _ string) bool { return !toServer })
		join(t, s.config("b", share("*")), says("who", "b"))
		a := join(t, s.config("a", mount("*"), at(p)))
		if got := a.text(t, "who"); got != "b" || !lost.Load() {
			t.Errorf("%q, and a message was lost: %v", got, lost.Load())
		}
	})
}

// The message that a call is canceled is lost: the call there ends all the same.
func TestCancelLost(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		p := s.proxied(t)
		begun, ended := make(chan struct{}), make(chan struct{})
		join(t, s.config("b", share("*")), handler("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			close(begun)
			<-ctx.Done()
			close(ended)
			return tool.Result{}, ctx.Err()
		}))
		a := join(t, s.config("a", mount("*"), at(p)))
		require.Eventually(t, "the tool", func() bool { return a.has("waits") })
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			_, _ = a.Execute(ctx, tool.Call{Name: "waits"})
		}()
		<-begun
		lost := p.loseOne(func(toServer bool, _ string) bool { return toServer })
		begin := time.Now()
		cancel()
		<-returned
		<-ended
		if took := time.Since(begin); took > promisedEnd {
			t.Errorf("the call went on for %v", took)
		}
		if !lost.Load() {
			t.Error("no message was lost")
		}
	})
}
