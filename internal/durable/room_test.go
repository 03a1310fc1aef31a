package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// large is a tool whose results have so many bytes.
func large(l *ledger, size int) tool.Tool {
	return noted("large", l, true, func(context.Context, string) (tool.Result, error) { return tool.Text(strings.Repeat("x", size)), nil })
}

// Results are stored until there is no room: each call ends, with its result or with an error that says that it has
// run. Then those make room that were fetched, the oldest first, and small results and signs of life always have some.
func TestResultsUntilFull(t *testing.T) {
	t.Parallel()
	size, room := 1<<20, int64(4<<20)
	if os.Getenv("DURABLE_TEST_FULL") != "" { // .ci/long
		size, room = 60<<20, 256<<20
	}
	s, l := newSite(t, 2), new(ledger)
	add, some := large(l, size), noted("some", l, false, nil)
	kept := func(c *durable.Config) { c.Bytes, c.Lapse, c.Fetched = room, time.Second, time.Hour }
	caller := s.join(0, nil, remote(add, some), trusting(s.peers(1)), kept)
	worker := s.join(1, []tool.Tool{add, some}, trusting(s.peers(0)), kept)
	most := int(room) / (size + 8<<10) // with what belongs to a result
	var done []string
	for i := range most + 2 {
		id := caller.submit(t, durable.Request{Tool: "large", Arguments: args(string(rune('a' + i)))})
		c := caller.wait(t, id)
		switch {
		case c.State == durable.StateDone:
			done = append(done, id)
			if len(c.Result.Text()) != size {
				t.Errorf("%d: %d bytes", i, len(c.Result.Text()))
			}
		case c.State != durable.StateFailed || c.Error.Code != tool.CodeResourceExhausted || c.Error.Unsent ||
			!strings.Contains(c.Error.Message, "has run") || c.Attempts != 1:
			t.Errorf("%d: %s %+v", i, c.State, c.Error)
		}
		if n := l.count(string(rune('a' + i))); n != 1 {
			t.Errorf("%d ran %d times", i, n)
		}
	}
	if len(done) != most {
		t.Fatalf("%d calls were done", len(done))
	}
	if f := worker.Stats().Results.Fill(); f < 0.5 {
		t.Errorf("fill: %v", f)
	}
	if c := caller.wait(t, caller.submit(t, durable.Request{Tool: "some", Arguments: args("small")})); c.State != durable.StateDone {
		t.Errorf("a small result: %+v", c.Error)
	}
	worker.end()
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)), kept, func(c *durable.Config) { c.Fetched = time.Nanosecond })
	id := caller.submit(t, durable.Request{Tool: "large", Arguments: args("more")})
	if c := caller.wait(t, id); c.State != durable.StateDone {
		t.Errorf("%+v", c.Error)
	}
	if _, err := caller.Get(t.Context(), done[0]); tool.CodeOf(err) != tool.CodeNotFound || !strings.Contains(err.Error(), "fetched") {
		t.Errorf("the first: %v", err)
	}
	if c, err := caller.Get(t.Context(), done[len(done)-1]); err != nil || len(c.Result.Text()) != size {
		t.Errorf("the last: %v", err)
	}
}

// Another program fills the buckets: calls are refused at once, or end with an error that says so, and none hangs.
func TestFilledByAnother(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := large(l, 100<<10)
	kept := func(c *durable.Config) { c.Bytes = 4 << 20 }
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)), kept)
	worker := s.join(1, []tool.Tool{add}, trusting(s.peers(0)), kept)
	js := require.Must(jetstream.New(s.dial(0)))(t)
	fill := func(bucket string) {
		kv := require.Must(js.KeyValue(t.Context(), bucket))(t)
		for n := 0; ; n++ {
			if _, err := kv.Put(t.Context(), strings.Repeat("x", n+1), make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	fill(durable.ResultsName)
	if c := caller.wait(t, caller.submit(t, durable.Request{Tool: "large", Arguments: args("a")})); c.Error == nil || c.Error.Code != tool.CodeResourceExhausted {
		t.Errorf("%+v", c)
	}
	if q := worker.Stats(); q.Results.Fill() < 0.9 {
		t.Errorf("%+v", q)
	}
	fill(durable.StateName)
	n, text := 0, ""
	require.Eventually(t, "a call is refused", func() bool {
		n, text = n+1, fmt.Sprint(n)
		_, err := caller.Submit(t.Context(), durable.Request{Tool: "large", Arguments: args(text)})
		return tool.CodeOf(err) == tool.CodeResourceExhausted && tool.AsError(err).Unsent && strings.Contains(err.Error(), "records")
	})
	if q := caller.Stats(); q.State.Fill() < 0.9 || l.count(text) != 0 {
		t.Errorf("%+v, %d", q, l.count(text))
	}
}

// What an operator sets is given to what is there, also when it is set later, once; a host that sets nothing changes
// nothing, and one that may not change it, or was overruled, says so.
func TestStorageIsApplied(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	js := require.Must(jetstream.New(s.dial(0)))(t)
	has := func(bytes int64, keep time.Duration) {
		t.Helper()
		require.Eventually(t, "it is applied", func() bool {
			for name, bytes := range map[string]int64{durable.QueueName: bytes, "KV_" + durable.StateName: bytes / 2, "KV_" + durable.ResultsName: bytes} {
				stream, err := js.Stream(t.Context(), name)
				if c := stream.CachedInfo().Config; err != nil || c.MaxBytes != bytes || c.MaxAge != keep || c.Replicas != 1 {
					return false
				}
			}
			return true
		})
	}
	says := func(p *party, text string) {
		t.Helper()
		require.Eventually(t, text, func() bool {
			return slices.ContainsFunc(p.Stats().Differs, func(d string) bool { return strings.Contains(d, text) })
		})
	}
	s.join(0, nil)
	has(256<<20, 7*24*time.Hour)
	first := s.join(0, nil, func(c *durable.Config) { c.Bytes = 8 << 20 })
	has(8<<20, 7*24*time.Hour)
	s.join(0, nil, func(c *durable.Config) { c.Keep = time.Hour })
	has(8<<20, time.Hour)
	s.join(0, nil)
	peer := s.join(1, nil, func(c *durable.Config) { c.Bytes = 16 << 20 })
	says(peer, "bytes of TOOLHOST_CALLS is 8388608, and nats.queue here says 16777216: the server has not changed it")
	has(8<<20, time.Hour)
	second := s.join(0, nil)
	second.Set(durable.Storage{Bytes: 32 << 20})
	has(32<<20, time.Hour)
	first.Set(durable.Storage{Bytes: 8 << 20, Replicas: 2})
	says(first, "replicas of TOOLHOST_CALLS is 1, and nats.queue here says 2")
}

// In a cluster of three, durable calls are on three servers though no operator says so.
func TestClusterReplicates(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three servers: .ci/long runs it")
	}
	t.Parallel()
	s := newKeys(t, 1)
	s.url = natstest.NewCluster(t, s.public...).URL(0)
	s.join(0, nil)
	js := require.Must(jetstream.New(s.dial(0)))(t)
	for _, name := range []string{durable.QueueName, "KV_" + durable.StateName, "KV_" + durable.ResultsName} {
		if c := require.Must(js.Stream(t.Context(), name))(t).CachedInfo().Config; c.Replicas != 3 || c.AllowDirect {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Arguments that do not fit into a message of the server are refused with the limit, and do not run.
func TestArgumentsBeyondMaxPayload(t *testing.T) {
	t.Parallel()
	s, l := newKeys(t, 2), new(ledger)
	s.config.Keys, s.config.Peers, s.config.StoreDir, s.config.MaxPayload = s.public[:1], s.public[1:], t.TempDir(), 64<<10
	s.start()
	t.Cleanup(func() { _ = s.server.Close(context.Background()) })
	add := noted("add", l, false, nil)
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	_, err := caller.Submit(t.Context(), durable.Request{Tool: "add", Arguments: args(strings.Repeat("x", 60<<10))})
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.CodeResourceExhausted || !e.Unsent || !strings.Contains(e.Message, "a message takes 57344") {
		t.Errorf("%v", err)
	}
	if c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args(strings.Repeat("y", 50<<10))})); c.State != durable.StateDone {
		t.Errorf("%+v", c.Error)
	}
	if l.all.Load() != 1 {
		t.Errorf("%d ran", l.all.Load())
	}
}
