package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// newStore starts a server that keeps durable calls.
func newStore(t testing.TB) *site {
	t.Helper()
	key := newKey(t)
	s := require.Must(embedded.Start(embedded.Config{Keys: []string{key.Public()}, StoreDir: t.TempDir()}))(t)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return &site{Server: s, key: key}
}

// lasting has the calls of tools wait in the queue.
func lasting(mode durable.Mode, patterns ...string) func(*fleet.Config) {
	return func(c *fleet.Config) {
		c.Queue.Lapse = 600 * time.Millisecond
		for _, p := range patterns {
			c.Rules = append(c.Rules, fleet.Rule{Tools: p, Durable: mode})
		}
	}
}

// submitted returns a context whose durable call tells its ID, and what waits for that.
func submitted(t testing.TB, ctx context.Context) (_ context.Context, id func() string) {
	t.Helper()
	ids := make(chan string, 1)
	return fleet.WithSubmission(ctx, "", func(id string) { ids <- id }), func() string {
		t.Helper()
		select {
		case id := <-ids:
			return id
		case <-time.After(require.Ceiling):
			t.Fatal("the call is not in the queue")
			return ""
		}
	}
}

// A call of a durable tool runs through both chains, by way of the queue; what ends its caller's
// wait does not end it, and any host of the key returns its result.
func TestDurableCall(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := make(chan struct{})
	var asked []fleet.Caller
	join(t, s.config("b", share("*"), func(c *fleet.Config) {
		c.Accept = func(by fleet.Caller) ([]host.SessionOption, error) {
			asked = append(asked, by)
			return []host.SessionOption{host.WithGrants("net")}, nil
		}
	}), handler("slow", func(_ context.Context, call tool.Call) (tool.Result, error) {
		<-release
		return tool.Text("for " + call.Caller + " with " + call.IdempotencyKey), nil
	}, func(d *tool.Definition) { d.Permission = "net" }))
	a := join(t, s.config("a", mount("*"), lasting(durable.AtMostOnce, "slow")))
	require.Eventually(t, "the tool", func() bool { return a.has("slow") })
	assert.Equalf(t, a.DurableMode("slow"), durable.AtMostOnce, "it")
	if _, err := a.Execute(t.Context(), tool.Call{Name: "slow"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("without the capability: %v", err)
	}
	alice := a.Session(host.WithCaller(host.Caller{Name: "alice"}), host.WithGrants("net"))
	ctx, cancel := context.WithCancel(t.Context())
	ctx, submittedID := submitted(t, ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := alice.Execute(ctx, tool.Call{Name: "slow", IdempotencyKey: "k"})
		ended <- err
	}()
	id := submittedID()
	require.Eventually(t, "it runs", func() bool {
		c, err := a.GetCall(t.Context(), id)
		return err == nil && c.State == durable.StateRunning
	})
	cancel()
	err := <-ended
	if _, err := a.WaitCall(ctx, id); !errors.Is(err, fleet.ErrGoesOn) || strings.Contains(err.Error(), "  ") {
		t.Errorf("who gives up at once is told %v", err)
	}
	e := tool.AsError(err)
	if e.Code != tool.CodeCanceled || e.Unsent || !errors.Is(err, fleet.ErrGoesOn) || !strings.Contains(e.OperatorHint, "Fleet.WaitCall of "+id) {
		t.Errorf("who gives up is told %+v", e)
	}
	close(release)
	a2 := join(t, s.config("a2", mount("*")))
	c, err := a2.WaitCall(t.Context(), id)
	if err != nil || c.State != durable.StateDone || c.Result.Text() != "for a/alice with k" || c.Caller != "alice" || c.Attempts != 1 {
		t.Errorf("%+v %v", c, err)
	}
	out, res, err := alice.Receive(t.Context(), tool.Call{ID: id, Name: c.Tool}, *c.Result, nil)
	if err != nil || !out.Success || res.Text() != c.Result.Text() || out.Metadata.Plugin != fleet.Owner {
		t.Errorf("%+v %v", out, err)
	}
	if len(asked) != 1 || asked[0] != (fleet.Caller{Host: "a", Name: "alice"}) {
		t.Errorf("its host was asked about %+v", asked)
	}
	if got, err := alice.Execute(t.Context(), tool.Call{Name: "slow", IdempotencyKey: "k"}); err != nil || got.Text() != c.Result.Text() {
		t.Errorf("with its key again: %v %v", got.Text(), err)
	}
	if all, err := a.ListCalls(t.Context()); err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("%+v %v", all, err)
	}
}

// A tool of the host itself is durable if a rule names it: its call waits in the queue and runs here, with what the host
// gives to its callers as those of another host; a call that is made in it does not wait again.
func TestDurableCallOfOwnTool(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var a *node
	started := make(chan struct{})
	var within atomic.Bool
	own := handler("own", func(ctx context.Context, call tool.Call) (tool.Result, error) {
		<-started
		inner := "inner"
		if !within.Swap(true) {
			res, err := a.Session().Execute(ctx, tool.Call{Name: "own"})
			inner = fmt.Sprint(res.Text(), err)
		}
		return tool.Text(call.Caller + " " + inner), nil
	})
	accept := func(c *fleet.Config) {
		c.Accept = func(by fleet.Caller) ([]host.SessionOption, error) {
			if by != (fleet.Caller{Host: "a", Name: "alice"}) {
				t.Errorf("it runs for %+v", by)
			}
			return nil, nil
		}
	}
	a = join(t, s.config("a", lasting(durable.AtMostOnce, "own", "*"), accept), own, says("other", "direct"), handler("barred",
		func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("ran"), nil },
		func(d *tool.Definition) { d.Permission = "net" }))
	b := join(t, s.config("b", lasting(durable.AtMostOnce, "own")), handler("own", func(context.Context, tool.Call) (tool.Result, error) {
		t.Error("it runs on another host")
		return tool.Result{}, nil
	}))
	close(started)
	if m, n := a.DurableMode("own"), a.DurableMode("other"); m != durable.AtMostOnce || n != "" {
		t.Errorf("they are %q and %q", m, n)
	}
	alice := a.Session(host.WithCaller(host.Caller{Name: "alice"}), host.WithGrants("net"))
	ctx, id := submitted(t, t.Context())
	res, err := alice.Execute(ctx, tool.Call{Name: "own"})
	if err != nil || !strings.HasPrefix(res.Text(), "a/alice ") || !strings.HasSuffix(res.Text(), "<nil>") {
		t.Fatalf("%v %v", res.Text(), err)
	}
	if all := require.Must(a.ListCalls(t.Context()))(t); len(all) != 1 || all[0].ID != id() || all[0].Tool != "own" || all[0].Worker != "a" {
		t.Errorf("the queue had %+v", all)
	}
	assert.Equal(t, a.text(t, "other"), "direct")
	require.NoError(t, a.Fleet.Reconfigure(s.config("a", lasting(durable.AtMostOnce, "barred"))))
	if _, err := alice.Execute(t.Context(), tool.Call{Name: "barred"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a grant of the session came along: %v", err)
	}
	_ = b.Fleet.Close(t.Context())
	_ = a.Fleet.Close(t.Context())
	if res, err := alice.Execute(t.Context(), tool.Call{Name: "barred"}); err != nil || res.Text() != "ran" {
		t.Errorf("without a fleet: %v %v", res.Text(), err)
	}
}

// Callers without a name do not get each other's calls by a key.
func TestDurableCallOfNobody(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var runs atomic.Int32
	join(t, s.config("b", share("*")), handler("count", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text(fmt.Sprint(runs.Add(1))), nil
	}), says("other", "another"))
	a := join(t, s.config("a", mount("*"), lasting(durable.AtMostOnce, "*")))
	require.Eventually(t, "the tools", func() bool { return a.has("count") && a.has("other") })
	one, two := a.Session(), a.Session()
	got := []string{}
	for _, session := range []*host.Session{one, two, one} {
		res := require.Must(session.Execute(t.Context(), tool.Call{Name: "count", IdempotencyKey: "k"}))(t)
		got = append(got, res.Text())
	}
	assert.Equalf(t, fmt.Sprint(got), "[1 2 1]", "the sessions got %v", got)
	if res, err := one.Execute(t.Context(), tool.Call{Name: "other", IdempotencyKey: "k"}); err != nil || res.Text() != "another" {
		t.Errorf("another tool with the key: %v %v", res.Text(), err)
	}
}

// Calls that wait hold no slot that other calls need, and a call that fails is in the queue once,
// whatever the operator says of retries.
func TestDurableCallsHoldNoSlots(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := make(chan struct{})
	var failed atomic.Int32
	join(t, s.config("b", share("*")),
		handler("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return tool.Text("late"), nil
		}),
		handler("fails", func(context.Context, tool.Call) (tool.Result, error) {
			failed.Add(1)
			return tool.Result{}, tool.Errorf(tool.CodeCrashed, "it crashes")
		}, idempotent),
		says("quick", "now"))
	retries := 3
	h, err := host.New(host.WithDefaults(func(all *plugin.Settings) {
		all.Limits.Running, all.Limits.Waiting = 2, 1
	}), host.WithOverrides(map[string]host.Override{"fails": {MaxRetries: &retries}}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	f, err := fleet.Join(t.Context(), h, s.config("a", mount("*"), lasting(durable.AtMostOnce, "slow", "fails")))
	require.NoError(t, err)
	a := &node{h, f}
	require.Eventually(t, "the tools", func() bool { return a.has("slow") && a.has("quick") && a.has("fails") })
	var waiting sync.WaitGroup
	for range 12 { // fewer than run on b at a time
		told := make(chan struct{})
		ctx := fleet.WithSubmission(t.Context(), "", func(string) {
			close(told)
			<-release // as one who is slow to read the ID
		})
		waiting.Go(func() {
			if res, err := a.Execute(ctx, tool.Call{Name: "slow"}); err != nil || res.Text() != "late" {
				t.Errorf("%v %v", res.Text(), err)
			}
		})
		select {
		case <-told:
		case <-time.After(require.Ceiling):
			t.Fatal("a call holds up another")
		}
	}
	assert.Equal(t, a.text(t, "quick"), "now")
	if _, err := a.Execute(t.Context(), tool.Call{Name: "fails"}); tool.CodeOf(err) != tool.CodeCrashed || !strings.Contains(err.Error(), "host b") {
		t.Errorf("it fails with %v", err)
	}
	close(release)
	waiting.Wait()
	if n := failed.Load(); n != 1 {
		t.Errorf("the call that fails ran %d times", n)
	}
}

// A server without JetStream has everything but durable calls, which fail and say what to do.
func TestDurableCallWithoutJetStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join(t, s.config("b", share("*")), says("one", "1"), says("two", "2"))
	a := join(t, s.config("a", mount("*"), lasting(durable.AtMostOnce, "one")))
	require.Eventually(t, "the tools", func() bool { return a.has("one") && a.has("two") })
	_, err := a.Execute(t.Context(), tool.Call{Name: "one"})
	if e := tool.AsError(err); e.Code != tool.CodeUnavailable || !e.Unsent || e.Tool != "one" || !strings.Contains(e.OperatorHint, "-js") {
		t.Errorf("%+v", e)
	}
	assert.Equal(t, a.text(t, "two"), "2")
	if q := a.Queue(); q.Open || !strings.Contains(q.Reason, "JetStream") {
		t.Errorf("%+v", q)
	}
	c := s.config("a", mount("*"))
	require.NoError(t, a.Fleet.Reconfigure(c))
	require.Eventually(t, "it is not durable any more", func() bool {
		res, err := a.Execute(t.Context(), tool.Call{Name: "one"})
		return err == nil && res.Text() == "1"
	})
}

// A host that leaves ends the durable calls that it runs; one that is closed gives back those that may
// run again.
func TestDurableCallOfHostThatLeaves(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	began, release := make(chan string, 4), make(chan struct{})
	work := func(name string) tool.Tool {
		return handler("work", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			began <- name
			select {
			case <-release:
				return tool.Text(name), nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		}, idempotent)
	}
	b := join(t, s.config("b", share("*")), work("b"))
	a := join(t, s.config("a", mount("*"), lasting(durable.AtLeastOnce, "*")))
	require.Eventually(t, "the tool", func() bool { return a.has("work") })
	call := func() chan string {
		out := make(chan string, 1)
		go func() {
			res, err := a.Execute(t.Context(), tool.Call{Name: "work"})
			out <- fmt.Sprint(res.Text(), err)
		}()
		return out
	}
	first := call()
	<-began
	left := make(chan error, 1)
	go func() { left <- b.Leave(t.Context()) }()
	require.Eventually(t, "it drains", func() bool { return b.Hosts()[0].State == fleet.HostDraining })
	select {
	case err := <-left:
		t.Fatalf("it has left with a call: %v", err)
	default:
	}
	release <- struct{}{}
	assert.Equalf(t, <-first, "b<nil>", "the call of a host that leaves")
	assert.NoError(t, <-left)
	c := join(t, s.config("c", share("*")), work("c"))
	second := call()
	assert.Equalf(t, <-began, "c", "it runs on")
	_ = c.Fleet.Close(t.Context())
	join(t, s.config("d", share("*")), work("d"))
	assert.Equalf(t, <-began, "d", "it runs again on")
	close(release)
	assert.Equalf(t, <-second, "d<nil>", "the call that was given back")
}

// What docs/fleet.md says that the user of a host needs is enough for durable calls.
func TestDurableCallWithPermissions(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	may := &server.SubjectPermission{Allow: []string{
		"toolhost.v1.>", "_INBOX.>", "$SRV.>", "$JS.API.>", "$JS.ACK.TOOLHOST_CALLS.>", "$JS.FC.>", "$KV.TOOLHOST_RESULTS.>", "$KV.TOOLHOST_STATE.>",
	}}
	url := serve(t, server.Options{
		JetStream: true, StoreDir: t.TempDir(),
		Nkeys: []*server.NkeyUser{{Nkey: key.Public(), Permissions: &server.Permissions{Publish: may, Subscribe: may}}},
	})
	join(t, fleet.Config{URL: url, Key: key, Name: "b", Share: []string{"*"}}, says("one", "1"))
	a := join(t, fleet.Config{URL: url, Key: key, Name: "a", Mount: []string{"*"}}, says("own", "-"))
	assert.Equal(t, a.text(t, "one"), "1")
	c := fleet.Config{URL: url, Key: key, Name: "a", Mount: []string{"*"}}
	lasting(durable.AtMostOnce, "*")(&c)
	if err := a.Fleet.Reconfigure(c); err != nil { // which takes effect for the next call
		t.Fatal(err)
	}
	ctx, submittedID := submitted(t, t.Context())
	res, err := a.Execute(ctx, tool.Call{Name: "one"})
	if err != nil || res.Text() != "1" || submittedID() == "" {
		t.Errorf("%v %v", res.Text(), err)
	}
	if all, err := a.ListCalls(t.Context()); err != nil || len(all) != 1 || all[0].State != durable.StateDone {
		t.Errorf("%+v %v", all, err)
	}
}
