package fleet_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What belongs to a call travels with it, and what a tool says on the way comes back.
func TestCourseOfCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	canceled := make(chan struct{})
	join(t, s.config("b", share("*")),
		handler("reports", func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if report := callctx.Get[func(tool.Progress)](ctx, callctx.Progress{}); report != nil {
				report(tool.Progress{Done: 1, Total: 2})
			}
			answer, err := tool.Ask(ctx, tool.Question{Message: "go on?", Schema: tool.Schema(`{"type":"object","properties":{"yes":{"type":"boolean"}}}`)})
			if err != nil {
				return tool.Result{}, err
			}
			text := tool.Stream(ctx)
			_, _ = text.Write([]byte("streamed "))
			until, limited := ctx.Deadline()
			if !limited || time.Until(until) > time.Minute {
				return tool.Failure("there is no deadline"), nil
			}
			return tool.Text(call.IdempotencyKey + " " + string(answer.Action) + " " + tool.TraceFrom(ctx).Parent), nil
		}),
		handler("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			close(canceled)
			return tool.Result{}, ctx.Err()
		}),
		handler("fails", func(context.Context, tool.Call) (tool.Result, error) {
			e := tool.Errorf(tool.CodeRateLimited, "not so fast")
			e.Hint, e.RetryAfter = "wait", tool.Duration(3*time.Second)
			return tool.Result{}, e
		}))
	a := join(t, s.config("a", mount("*")))
	session := a.Session()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := context.WithValue(t.Context(), callctx.Trace{}, &tool.Trace{Parent: parent})
	var progress atomic.Int32
	var shown strings.Builder
	_, res, err := session.CallWith(ctx, tool.Call{Name: "reports"}, host.CallOptions{
		IdempotencyKey: "key-1", Timeout: 30 * time.Second,
		Progress: func(tool.Progress) { progress.Add(1) },
		Deltas:   func(d tool.Delta) { shown.WriteString(d.Text) },
		Asker: func(context.Context, tool.Question) (tool.Answer, error) {
			return tool.Answer{Action: tool.Accept, Content: []byte(`{"yes":true}`)}, nil
		},
	})
	if err != nil || !strings.HasPrefix(res.Text(), "streamed ") ||
		!strings.Contains(res.Text(), "key-1 accept 00-0af7651916cd43dd8448eb211c80319c") {
		t.Errorf("%q %v", res.Text(), err)
	}
	if progress.Load() != 1 || !strings.HasPrefix(shown.String(), "streamed ") {
		t.Errorf("%d reports, %q shown", progress.Load(), shown.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := session.Execute(ctx, tool.Call{Name: "waits"})
		ended <- err
	}()
	require.Eventually(t, "the call", func() bool { return a.Hosts()[1].Calls == 1 })
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
	<-canceled
	_, err = session.Execute(t.Context(), tool.Call{Name: "fails"})
	if e := tool.AsError(err); e.Code != tool.CodeRateLimited || e.RetryAfter != tool.Duration(3*time.Second) || e.Hint != "wait" {
		t.Errorf("%+v", e)
	}
}

// A clock that is five minutes off changes nothing but what is shown.
func TestClockThatIsOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join(t, s.config("b", share("*"), func(c *fleet.Config) {
		c.Now = func() time.Time { return time.Now().Add(5 * time.Minute) }
	}), says("who", "b"))
	a := join(t, s.config("a", mount("*")))
	assert.Equal(t, a.text(t, "who"), "b")
	if skew := a.Hosts()[1].Skew; skew < 4*time.Minute || skew > 6*time.Minute {
		t.Errorf("the clock is %v ahead", skew)
	}
}

// Hosts are replaced one after another while they are called: no call fails.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := join(t, s.config("a", mount("*")))
	b := join(t, s.config("b", share("*")), says("who", "b"))
	require.Eventually(t, "the tool", func() bool { return a.has("who") })
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				ended <- n
				return
			default:
			}
			if _, err := a.Execute(t.Context(), tool.Call{Name: "who"}); err != nil {
				t.Errorf("call %d: %v", n, err)
			}
		}
	}()
	for range 5 {
		next := join(t, s.config("b", share("*")), says("who", "b"))
		a.shared(t, "who", 1, 2)
		assert.NoError(t, b.Leave(t.Context()))
		_ = b.Fleet.Close(context.Background())
		b = next
	}
	close(stop)
	t.Logf("%d calls", <-ended)
}
