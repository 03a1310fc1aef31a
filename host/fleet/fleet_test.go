package fleet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestMountedToolRunsOnItsHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join(t, s.config("b", share("math.*"), grants()), says("math.add", "three"), says("secret", "no"))
	a := join(t, s.config("a", mount("*")), says("own", "mine"))
	assert.Equal(t, a.text(t, "math.add"), "three")
	if a.has("secret") {
		t.Error("a tool that is not shared is mounted")
	}
	got, _ := a.Get("math.add")
	assert.Equalf(t, got.Owner, fleet.Owner, "owner")
}

func TestToolsComeAndGoWithTheirHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := join(t, s.config("a", mount("*")))
	b := join(t, s.config("b", share("*")), says("one", "1"))
	require.Eventually(t, "the tool", func() bool { return a.has("one") })
	require.NoError(t, b.Register(says("two", "2")))
	require.Eventually(t, "the second tool", func() bool { return a.has("two") })
	_ = b.Fleet.Close(context.Background())
	begin := time.Now()
	require.Eventually(t, "their end", func() bool { return !a.has("one") && !a.has("two") })
	t.Logf("gone after %v", time.Since(begin))
}

func TestReplicasAreOneTool(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"b", "c"} {
		join(t, s.config(name, share("*")), says("who", name, idempotent))
	}
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "who", 1, 2)
	if got := a.text(t, "who"); got != "b" && got != "c" { // how calls are shared, TestPlacing counts in fake time
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"b", "c"} {
		res, err := a.Fleet.Execute(fleet.On(t.Context(), name), tool.Call{Name: "who"})
		if err != nil || res.Text() != name {
			t.Errorf("on %s: %v %v", name, res.Text(), err)
		}
	}
}

func TestDrainedHostTakesNothingNew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := join(t, s.config("b", share("*")), says("who", "b"))
	join(t, s.config("c", share("*")), says("who", "c"))
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "who", 1, 2)
	require.NoError(t, a.Drain(t.Context(), "b", true))
	for range 50 {
		if got := a.text(t, "who"); got != "c" {
			t.Fatalf("a call went to %s", got)
		}
	}
	if h := b.Hosts(); h[0].State != fleet.HostDraining {
		t.Errorf("b is %s", h[0].State)
	}
}

// Whoever waits for a host to be drained waits for the calls in progress there, or until it takes calls
// again.
func TestDrained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	began, end := make(chan struct{}), make(chan struct{})
	b := join(t, s.config("b", share("*")), handler("slow", func(context.Context, tool.Call) (tool.Result, error) {
		close(began)
		<-end
		return tool.Text("b"), nil
	}))
	a := join(t, s.config("a", mount("*")))
	require.Eventually(t, "the tool", func() bool { return a.has("slow") })
	if err := a.Drained(t.Context(), "b", 0); tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("a host that does not drain: %v", err)
	}
	called, drained := make(chan error, 1), make(chan error, 3)
	go func() {
		_, err := a.Execute(t.Context(), tool.Call{Name: "slow"})
		called <- err
	}()
	<-began
	wait := func(n *node, name string) { drained <- n.Drained(t.Context(), name, 0) }
	require.NoError(t, a.Drain(t.Context(), "b", true))
	go wait(a, "b")
	short, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIsf(t, b.Drained(short, "", 0), context.Canceled, "with a call in progress")
	for n, name := range map[*node]string{a: "b", b: ""} {
		err := n.Drained(t.Context(), name, time.Millisecond)
		if tool.CodeOf(err) != tool.CodeDeadlineExceeded || !strings.Contains(err.Error(), "host b has not ended its calls of other hosts within 1ms: 1 left") {
			t.Errorf("a wait that is over: %v", err)
		}
	}
	require.NoError(t, a.Drain(t.Context(), "b", false))
	if err := <-drained; tool.CodeOf(err) != tool.CodeCanceled || !strings.Contains(err.Error(), "takes calls again") {
		t.Errorf("it takes calls again: %v", err)
	}
	require.NoError(t, a.Drain(t.Context(), "b", true))
	go wait(a, "b")
	go wait(b, "")
	close(end)
	for range 2 {
		if err := <-drained; err != nil {
			t.Errorf("its calls have ended: %v", err)
		}
	}
	assert.NoError(t, <-called)
}

func TestCallerIsKnown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := require.Must(fleet.NewKey())(t)
	_ = other
	var asked []fleet.Caller
	join(t, s.config("b", share("*"), func(c *fleet.Config) {
		c.Accept = func(by fleet.Caller) ([]host.SessionOption, error) {
			asked = append(asked, by)
			return nil, nil
		}
	}), handler("me", func(_ context.Context, call tool.Call) (tool.Result, error) { return tool.Text(call.Caller), nil }))
	a := join(t, s.config("a", mount("*")))
	session := a.Session(host.WithCaller(host.Caller{Name: "alice"}))
	out := session.Call(t.Context(), tool.Call{Name: "me"})
	if out.Content != "a/alice" || len(asked) != 1 || asked[0] != (fleet.Caller{Host: "a", Name: "alice"}) {
		t.Errorf("%q, %+v", out.Content, asked)
	}
	if p := out.Metadata.Phases; p.On != "b" || p.There == nil || p.There.Ran <= 0 || p.There.BytesOut != len("a/alice") || p.Ran < p.There.Ran {
		t.Errorf("the call's phases are %+v, those on the other host %+v", p, p.There)
	}
}
