package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A call runs at a host that shares the tool, by the name that its peer has there.
func TestCall(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := noted("add", l, true, nil)
	var from []durable.Caller
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)), func(c *durable.Config) {
		c.Accept = func(f durable.Caller) ([]host.SessionOption, error) {
			from = append(from, f)
			return nil, nil
		}
	})
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	id := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a"), Caller: "alice"})
	c := caller.wait(t, id)
	if c.State != durable.StateDone || c.Result == nil || c.Result.Text() != "did a" || c.Worker != "name-1" || c.Attempts != 1 ||
		c.Mode != durable.AtLeastOnce || c.Caller != "alice" || c.Started.IsZero() || c.Ended.IsZero() {
		t.Errorf("it ended as %+v", c)
	}
	if want := (durable.Caller{Peer: "host-0", Host: "name-0", Name: "alice"}); len(from) != 1 || from[0] != want {
		t.Errorf("it came from %+v, not %+v", from, want)
	}
	if c, err := caller.Get(t.Context(), id); err != nil || c.State != durable.StateDone || c.Result.Text() != "did a" {
		t.Errorf("Get: %+v, %v", c, err)
	}
	if all, err := caller.List(t.Context()); err != nil || len(all) != 1 || all[0].ID != id || all[0].State != durable.StateDone {
		t.Errorf("List: %+v, %v", all, err)
	}
	// Another host does not have it.
	if _, err := s.join(1, nil).Get(t.Context(), id); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("Get of another's call: %v", err)
	}
}

// What a tool returns arrives as it is: large results, failures, errors.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	large := strings.Repeat("0123456789abcdef", 3<<20/16)
	add := noted("add", new(ledger), false, func(_ context.Context, text string) (tool.Result, error) {
		switch text {
		case "large":
			return tool.Text(large), nil
		case "failure":
			return tool.Failure("no"), nil
		case "error":
			return tool.Result{}, errors.New("broken")
		case "crash":
			return tool.Result{}, &tool.Error{Code: "\x1b[31m", Message: "it \x1b[31mcrashed", Detail: "the key is 123"}
		}
		return tool.Text(text), nil
	})
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	for text, want := range map[string]func(c durable.Call) bool{
		"large": func(c durable.Call) bool { return c.State == durable.StateDone && c.Result.Text() == large },
		"failure": func(c durable.Call) bool {
			return c.State == durable.StateDone && c.Result.IsError && c.Result.Text() == "no"
		},
		"error": func(c durable.Call) bool {
			return c.State == durable.StateFailed && c.Error.Code == tool.CodeToolFailed && strings.Contains(c.Error.Message, "broken")
		},
		"crash": func(c durable.Call) bool {
			return c.State == durable.StateFailed && c.Error.Code == tool.CodeToolFailed && strings.HasSuffix(c.Error.Message, `it \x1b[31mcrashed`) &&
				c.Error.Detail == "" && c.Error.Tool == "add"
		},
	} {
		c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args(text)}))
		if !want(c) || c.Mode != durable.AtMostOnce {
			t.Errorf("%s: %s, %v", text, c.State, c.Error)
		}
	}
	c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: []byte(`{"text":3}`)}))
	if c.State != durable.StateFailed || c.Error.Code != tool.CodeInvalidArguments {
		t.Errorf("arguments that do not fit: %s, %v", c.State, c.Error)
	}
}

// The same key is the same call, until its arguments differ.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := noted("add", l, false, nil)
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	r := durable.Request{Tool: "add", Arguments: args("a"), IdempotencyKey: "k", Caller: "alice"}
	first := caller.submit(t, r)
	assert.Equalf(t, caller.submit(t, r), first, "again")
	caller.wait(t, first)
	assert.Equalf(t, caller.submit(t, r), first, "after its end")
	r.Caller = "bob"
	if other := caller.submit(t, r); other == first {
		t.Error("another caller has the same call")
	} else {
		caller.wait(t, other)
	}
	r.Arguments = args("b")
	if _, err := caller.Submit(t.Context(), r); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Errorf("other arguments: %v", err)
	}
	if n := l.count("a"); n != 2 {
		t.Errorf("it ran %d times, not once for each caller", n)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	ended := make(chan error, 1)
	started := make(chan struct{}, 1)
	add := noted("add", l, true, func(ctx context.Context, _ string) (tool.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return tool.Result{}, ctx.Err()
	})
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	queued := caller.submit(t, durable.Request{Tool: "add", Arguments: args("queued")})
	require.NoError(t, caller.Cancel(t.Context(), queued))
	if c := caller.wait(t, queued); c.State != durable.StateCanceled || c.Error.Code != tool.CodeCanceled {
		t.Errorf("queued: %+v", c)
	}
	worker := s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	for _, mode := range []durable.Mode{durable.AtLeastOnce, durable.AtMostOnce} {
		running := caller.submit(t, durable.Request{Tool: "add", Arguments: args("running"), Mode: mode})
		<-started
		require.NoError(t, caller.Cancel(t.Context(), running))
		select {
		case err := <-ended:
			assert.ErrorIsf(t, err, context.Canceled, "its context ended as")
		case <-time.After(ceiling):
			t.Fatal("the tool goes on")
		}
		if c := caller.wait(t, running); c.State != durable.StateCanceled || c.Attempts != 1 || c.Worker != "name-1" {
			t.Errorf("running: %+v", c)
		}
		if err := caller.Cancel(t.Context(), running); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	require.Eventually(t, "the slots are free", func() bool { return worker.Stats().Running == 0 })
	assert.Equalf(t, l.count("queued"), 0, "a canceled call ran")
	if err := caller.Cancel(t.Context(), "AAAAAAAAAAAAAAAAAAAAAAAAAA"); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("an unknown one: %v", err)
	}
}

// Who cannot submit is told at once, and why.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	add := noted("add", new(ledger), false, nil)
	caller := s.join(0, nil, remote(add), func(c *durable.Config) { c.Queue = 3 })
	for name, c := range map[string]struct {
		request durable.Request
		code    tool.Code
	}{
		"unknown tool":     {durable.Request{Tool: "ad"}, tool.CodeNotFound},
		"not idempotent":   {durable.Request{Tool: "add", Mode: durable.AtLeastOnce}, tool.CodeInvalidArguments},
		"unknown mode":     {durable.Request{Tool: "add", Mode: "twice"}, tool.CodeInvalidArguments},
		"no object":        {durable.Request{Tool: "add", Arguments: []byte(`[]`)}, tool.CodeInvalidArguments},
		"no JSON":          {durable.Request{Tool: "add", Arguments: []byte(`{`)}, tool.CodeInvalidArguments},
		"long TTL":         {durable.Request{Tool: "add", TTL: 1000 * time.Hour}, tool.CodeInvalidArguments},
		"negative TTL":     {durable.Request{Tool: "add", TTL: -1}, tool.CodeInvalidArguments},
		"long key":         {durable.Request{Tool: "add", IdempotencyKey: strings.Repeat("k", 257)}, tool.CodeInvalidArguments},
		"long caller":      {durable.Request{Tool: "add", Caller: strings.Repeat("k", 257)}, tool.CodeInvalidArguments},
		"huge arguments":   {durable.Request{Tool: "add", Arguments: args(strings.Repeat("a", 1<<20))}, tool.CodeResourceExhausted},
		"a key of control": {durable.Request{Tool: "add\x00"}, tool.CodeNotFound},
	} {
		if _, err := caller.Submit(t.Context(), c.request); tool.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 3 {
		caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
	}
	_, err := caller.Submit(t.Context(), durable.Request{Tool: "add", Arguments: args("a")})
	if e := tool.AsError(err); tool.CodeOf(err) != tool.CodeResourceExhausted || !e.Unsent {
		t.Errorf("a full queue: %v", err)
	}
	if all, err := caller.List(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%d calls, %v: what was refused is not there", len(all), err)
	}
	for _, id := range []string{"", "*", ">", "a.b", strings.Repeat("A", 26)} {
		if _, err := caller.Get(t.Context(), id); tool.CodeOf(err) != tool.CodeNotFound {
			t.Errorf("Get(%q): %v", id, err)
		}
	}
}

func TestExpires(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	caller := s.join(0, nil, remote(noted("add", new(ledger), true, nil)))
	c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args("a"), TTL: 50 * time.Millisecond}))
	if c.State != durable.StateExpired || c.Error.Code != tool.CodeDeadlineExceeded || c.Attempts != 0 {
		t.Errorf("%+v", c)
	}
}

// Streams that an operator has deleted while hosts run are made again by the next call.
func TestDeletedQueue(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := noted("add", l, false, nil)
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)), func(c *durable.Config) { c.Lapse = time.Second })
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)), func(c *durable.Config) { c.Existing, c.Lapse = true, time.Second })
	caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")}))
	js := require.Must(jetstream.New(s.dial(0)))(t)
	for i, streams := range [][]string{{durable.QueueName}, {"KV_" + durable.StateName}, {"KV_" + durable.ResultsName, durable.QueueName}} {
		for _, name := range streams {
			require.NoError(t, js.DeleteStream(t.Context(), name))
		}
		c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args(fmt.Sprint(i))}))
		if c.State != durable.StateDone || l.count(fmt.Sprint(i)) != 1 {
			t.Errorf("without %q: %+v", streams, c)
		}
	}
}

// denying starts a server that does not take what the n-th key publishes on a subject.
func (s *site) denying(n int, subject string) {
	s.t.Helper()
	var users []*server.NkeyUser
	for i, key := range s.public {
		u := &server.NkeyUser{Nkey: key}
		if i == n {
			u.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{subject}}}
		}
		users = append(users, u)
	}
	bus, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: s.t.TempDir(),
		Nkeys: users,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	bus.Start()
	s.t.Cleanup(bus.Shutdown)
	s.url = bus.ClientURL()
}

// A caller that gets no answer to a submission is told that the call may be in the queue.
func TestSubmitWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := newKeys(t, 1)
	s.denying(0, "toolhost.v1.q.>")
	caller := s.join(0, nil, remote(noted("add", new(ledger), true, nil)))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := caller.Submit(ctx, durable.Request{Tool: "add", Arguments: args("a")})
	if e := tool.AsError(err); e.Code != tool.CodeUnavailable || e.Unsent || !strings.Contains(e.Message, "not known") {
		t.Errorf("Submit: %+v", e)
	}
}

// While the server does not answer the request for a watch, callers can give up waiting, and the host can end.
func TestWaitWithoutNews(t *testing.T) {
	t.Parallel()
	s := newKeys(t, 1)
	s.denying(0, "$JS.API.CONSUMER.CREATE.KV_"+durable.StateName+".>")
	caller := s.join(0, nil, remote(noted("add", new(ledger), true, nil)))
	id := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
	const most = 20 * 300 * time.Millisecond
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := caller.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait: %v", err)
			}
		})
	}
	all.Wait()
	assert.NoError(t, caller.Close(t.Context()))
	if took := time.Since(begin); took > most {
		t.Errorf("giving up and ending took %v", took)
	}
}

// Without JetStream, the operator is told what is missing.
func TestNoJetStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	plain, err := embedded.Start(embedded.Config{Keys: s.public})
	require.NoError(t, err)
	t.Cleanup(func() { _ = plain.Close(context.Background()) })
	nc := require.Must(dial(plain.URL(), s.keys[0]))(t)
	t.Cleanup(nc.Close)
	h := require.Must(host.New())(t)
	_, err = durable.Open(t.Context(), durable.Config{Conn: nc, Host: h, Key: s.keys[0], Name: "a"})
	if e := tool.AsError(err); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(e.OperatorHint, "JetStream") {
		t.Errorf("Open: %v", err)
	}
	for _, bad := range []durable.Config{{}, {Conn: nc, Host: h, Key: s.keys[0]},
		{Conn: nc, Host: h, Key: s.keys[0], Name: "a", Slots: -1}, {Conn: nc, Host: h, Name: "a", Key: s.keys[0], Lapse: 1},
	} {
		if _, err := durable.Open(t.Context(), bad); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
