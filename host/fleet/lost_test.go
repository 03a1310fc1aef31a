package fleet_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A message is lost after which nothing more is sent on its link. Whoever waits for the answer is told
// within seconds, though no connection is lost and the deadline of the call is far away.
func TestLastMessageLost(t *testing.T) {
	t.Parallel()
	const request, reply = ".s", ".c" // the ends of the subjects of a link
	for name, c := range map[string]struct {
		tool, lost string
		runs       int32
	}{
		"request, repeatable": {"again", request, 1},
		"reply, repeatable":   {"again", reply, 2},
		"request, once":       {"once", request, 0},
		"reply, once":         {"once", reply, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
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
			var lost atomic.Bool
			p.lose(func(_ bool, subject string) bool {
				return strings.HasPrefix(subject, "toolhost.v1.l.") && strings.HasSuffix(subject, c.lost) && !lost.Swap(true)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			begin := time.Now()
			_, err := a.Host.Execute(ctx, tool.Call{Name: c.tool})
			took := time.Since(begin)
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
			if took > 20*promisedEnd {
				t.Errorf("the call ended after %v", took)
			}
			t.Logf("after %v", took)
		})
	}
}

// promisedEnd is how soon a call ends whose message was lost.
const promisedEnd = 2100 * time.Millisecond

// What a host shares is read again if a message of the reading is lost.
func TestIndexLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.proxied(t)
	var lost atomic.Bool
	p.lose(func(toServer bool, subject string) bool {
		return !toServer && strings.HasPrefix(subject, "toolhost.v1.l.") && !lost.Swap(true)
	})
	join(t, s.config("b", share("*")), says("who", "b"))
	a := join(t, s.config("a", mount("*"), at(p)))
	if got := a.text(t, "who"); got != "b" || !lost.Load() {
		t.Errorf("%q, and a message was lost: %v", got, lost.Load())
	}
}

// The message that a call is canceled is lost: the call there ends all the same.
func TestCancelLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.proxied(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	join(t, s.config("b", share("*")), handler("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return tool.Result{}, ctx.Err()
	}))
	a := join(t, s.config("a", mount("*"), at(p)))
	until(t, "the tool", func() bool { return a.has("waits") })
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_, _ = a.Host.Execute(ctx, tool.Call{Name: "waits"})
	}()
	<-begun
	var lost atomic.Bool
	p.lose(func(toServer bool, subject string) bool {
		return toServer && strings.HasPrefix(subject, "toolhost.v1.l.") && !lost.Swap(true)
	})
	cancel()
	<-returned
	select {
	case <-ended:
	case <-time.After(20 * promisedEnd):
		t.Error("the call goes on")
	}
	if !lost.Load() {
		t.Error("no message was lost")
	}
}

// at has a host connect through a proxy.
func at(p *proxy) func(*fleet.Config) {
	return func(c *fleet.Config) { c.URL = p.URL() }
}
