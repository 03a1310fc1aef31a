package durable_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stranger is a user who may do on the NATS server what hosts may, but whom no host knows.
type stranger struct {
	t      *testing.T
	nc     *nats.Conn
	js     jetstream.JetStream
	bucket jetstream.KeyValue
	mu     sync.Mutex
	heard  []*nats.Msg // on the subjects of the queue
}

func (s *site) stranger(t *testing.T, n int) *stranger {
	t.Helper()
	x := &stranger{t: t, nc: s.dial(n)}
	var err error
	if x.js, err = jetstream.New(x.nc); err != nil {
		t.Fatal(err)
	}
	if x.bucket, err = x.js.KeyValue(t.Context(), durable.StateName); err != nil {
		t.Fatal(err)
	}
	require.Must(x.nc.Subscribe("toolhost.v1.q.>", func(m *nats.Msg) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.heard = append(x.heard, m)
	}))(t)
	require.NoError(t, x.nc.Flush())
	return x
}

// message returns what was put into the queue for a call.
func (x *stranger) message(id string) *nats.Msg {
	x.t.Helper()
	var found *nats.Msg
	require.Eventually(x.t, "the message is heard", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, m := range x.heard {
			if strings.HasSuffix(m.Subject, "."+id) {
				found = m
			}
		}
		return found != nil
	})
	return found
}

// record returns the key and the content of the record of a call.
func (x *stranger) record(id string) (key string, value []byte) {
	x.t.Helper()
	keys, err := x.bucket.Keys(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, k := range keys {
		if strings.HasSuffix(k, "."+id) {
			e, err := x.bucket.Get(x.t.Context(), k)
			if err != nil {
				x.t.Fatal(err)
			}
			return k, e.Value()
		}
	}
	x.t.Fatalf("there is no record of %s", id)
	return "", nil
}

func (x *stranger) publish(subject string, data []byte) {
	x.t.Helper()
	if _, err := x.js.Publish(x.t.Context(), subject, data); err != nil {
		x.t.Fatal(err)
	}
}

func (x *stranger) put(key string, value []byte) {
	x.t.Helper()
	if _, err := x.bucket.Put(x.t.Context(), key, value); err != nil {
		x.t.Fatal(err)
	}
}

// What a stranger forges, changes or sends again does not run.
func TestStrangersMessages(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	once, many := noted("once", l, false, nil), noted("many", l, true, nil)
	soon := func(c *durable.Config) { c.Lapse = 2 * time.Second }
	caller := s.join(0, nil, remote(once, many), trusting(s.peers(1)), soon)
	x := s.stranger(t, 2)
	ids := []string{
		caller.submit(t, durable.Request{Tool: "once", Arguments: args("a")}),
		caller.submit(t, durable.Request{Tool: "many", Arguments: args("a")}),
	}
	key, queued := x.record(ids[0])
	worker := s.join(1, []tool.Tool{once, many}, trusting(s.peers(0)), soon)
	for _, id := range ids {
		if c := caller.wait(t, id); c.State != durable.StateDone {
			t.Fatalf("%+v", c)
		}
	}
	m, other := x.message(ids[0]), x.message(ids[1])
	changed := bytes.Replace(m.Data, []byte(`"text":"a"`), []byte(`"text":"b"`), 1)
	if bytes.Equal(changed, m.Data) {
		t.Fatal("nothing was changed")
	}
	moved := m.Subject[:strings.LastIndex(m.Subject, ".")+1] + strings.Repeat("A", 26)
	bad := []struct {
		subject string
		data    []byte
	}{
		{m.Subject, m.Data}, {other.Subject, other.Data}, // again
		{m.Subject, changed}, {moved, m.Data}, {other.Subject, m.Data}, // changed
		{m.Subject, nil}, {m.Subject, []byte("hello")}, {m.Subject, m.Data[:len(m.Data)/2]}, {m.Subject, bytes.Repeat([]byte{0}, 999)},
		{m.Subject, bytes.Repeat([]byte{255}, 999)},
	}
	for _, b := range bad {
		x.publish(b.subject, b.data)
	}
	require.NoError(t, x.nc.Publish("toolhost.v1.n."+strings.Split(m.Subject, ".")[3], nil))
	require.Eventually(t, "all are refused", func() bool { return worker.Stats().Refused == uint64(len(bad)) })

	// It puts the record back as it was when the call was queued, and the message again.
	x.put(key, queued)
	x.publish(m.Subject, m.Data)
	require.Eventually(t, "that is refused too", func() bool { return worker.Stats().Refused == uint64(len(bad))+1 })
	assert.Equalf(t, l.all.Load(), 2, "they ran %v", l.runs)
}

// Calls of a host that is not known, or of a tool that is not shared with it, are refused.
func TestUnknownCaller(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	add := noted("add", l, true, nil)
	peers := s.peers(0)()
	for k, p := range peers {
		p.Share = []string{"other.*"}
		peers[k] = p
	}
	worker := s.join(1, []tool.Tool{add, noted("other.add", l, true, nil)}, func(c *durable.Config) {
		c.Attempts, c.Peers = 1, func() map[string]durable.Peer { return peers }
	})
	s.join(1, []tool.Tool{add}, trusting(s.peers(1)), func(c *durable.Config) { c.Attempts = 1 }) // which looks for calls of add
	for n := range 3 {
		if n == 1 {
			continue
		}
		p := s.join(n, nil, remote(add))
		id := p.submit(t, durable.Request{Tool: "add", Arguments: args("a"), TTL: 3 * time.Second})
		if c := p.wait(t, id); c.State != durable.StateExpired {
			t.Errorf("it ended as %+v", c)
		}
	}
	if worker.Stats().Ran != 0 || l.all.Load() != 0 {
		t.Error("it ran")
	}
}

// Results count only if they come from a host that is known, and may have the tool.
func TestStrangersResults(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 4), new(ledger)
	add := noted("add", l, false, nil)
	s.join(2, []tool.Tool{add}, trusting(s.peers(0, 3))) // it takes the calls, and no host knows it
	peers := s.peers(2)()
	for k, p := range peers {
		p.Mount = []string{"other.*"}
		peers[k] = p
	}
	for n, known := range map[int]func() map[string]durable.Peer{0: s.peers(1), 3: func() map[string]durable.Peer { return peers }} {
		caller := s.join(n, nil, remote(add), trusting(known), func(c *durable.Config) { c.Lapse = 300 * time.Millisecond })
		id := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
		if _, err := caller.Wait(t.Context(), id); tool.CodeOf(err) != tool.CodeInvalidResult {
			t.Errorf("Wait: %v", err)
		}
		if all, err := caller.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("List: %v, %v", all, err)
		}
		if err := caller.Cancel(t.Context(), id); tool.CodeOf(err) != tool.CodeInvalidResult {
			t.Errorf("Cancel: %v", err)
		}
	}
}

// Records that were damaged, or belong to another call, are not believed; a worker that runs the
// call repairs its own.
func TestStrangersRecords(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	release := make(chan struct{})
	slow := noted("slow", l, false, func(context.Context, string) (tool.Result, error) {
		<-release
		return tool.Text("slowly"), nil
	})
	large := noted("large", l, false, func(context.Context, string) (tool.Result, error) {
		return tool.Text(strings.Repeat("a", 1<<20)), nil
	})
	s.join(1, []tool.Tool{slow, large}, trusting(s.peers(0)))
	caller := s.join(0, nil, remote(slow, large), trusting(s.peers(1)), func(c *durable.Config) { c.Lapse = time.Second })
	x := s.stranger(t, 2)
	id := caller.submit(t, durable.Request{Tool: "slow", Arguments: args("a")})
	require.Eventually(t, "it runs", func() bool { return l.count("a") == 1 })
	key, _ := x.record(id)
	x.put(key, []byte("rubbish"))
	close(release)
	if c := caller.wait(t, id); c.State != durable.StateDone || c.Result.Text() != "slowly" {
		t.Errorf("repaired: %+v", c)
	}

	id2 := caller.submit(t, durable.Request{Tool: "large", Arguments: args("b")})
	caller.wait(t, id2)
	key2, done := x.record(id2)
	distrusted := func(what string) {
		if _, err := caller.Get(t.Context(), id2); tool.CodeOf(err) != tool.CodeInvalidResult {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, first := x.record(id)
	x.put(key2, first)
	distrusted("the record of another call")
	for i := range done {
		bad := bytes.Clone(done)
		bad[i] ^= 1
		if i%97 != 0 {
			continue
		}
		x.put(key2, bad)
		distrusted("a changed byte")
	}
	x.put(key2, done)
	if _, err := caller.Get(t.Context(), id2); err != nil {
		t.Errorf("as it was: %v", err)
	}
	results := require.Must(x.js.KeyValue(t.Context(), durable.ResultsName))(t)
	for _, k := range require.Must(results.Keys(t.Context()))(t) {
		if strings.HasPrefix(k, key2+".") {
			require.Must(results.Put(t.Context(), k, []byte("other")))(t)
		}
	}
	distrusted("another chunk")
}
