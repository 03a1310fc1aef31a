package durable_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The calls of a worker that died are settled though no caller asks for them, also if their host was away meanwhile, and
// whatever its clock says: at most once has ended, at least once waits for another worker.
func TestDeadWorkerIsNoticed(t *testing.T) {
	t.Parallel()
	s, file := newSite(t, 2), filepath.Join(t.TempDir(), "ledger")
	own := []func(*durable.Config){remote(processTools(file, false)...), trusting(s.peers(1)), func(c *durable.Config) {
		c.Lapse, c.Now = time.Second, func() time.Time { return time.Now().Add(-5 * time.Minute) }
	}}
	worker := s.startProcess(1, file, true)
	caller := s.join(0, nil, own...)
	once := caller.submit(t, durable.Request{Tool: "once.add", Arguments: args("once")})
	many := caller.submit(t, durable.Request{Tool: "many.add", Arguments: args("many")})
	require.Eventually(t, "both run", func() bool { l := lines(t, file); return l["once"] == 1 && l["many"] == 1 })
	caller.end()
	worker.kill()
	// It shows what is stored, and settles nothing.
	observer := s.join(0, nil, append(own, func(c *durable.Config) { c.Existing = true })...)
	is := func(id string) durable.State { return require.Must(observer.Get(t.Context(), id))(t).State }
	if is(once) != durable.StateRunning || is(many) != durable.StateRunning {
		t.Fatalf("they are %s and %s", is(once), is(many))
	}
	keeper := s.join(0, nil, own...)
	require.Eventually(t, "both are settled", func() bool { return is(once) == durable.StateFailed && is(many) == durable.StateQueued })
	require.Eventually(t, "one waits", func() bool { return maps.Equal(keeper.Stats().Tools, map[string]uint64{"many.add": 1}) })
	if c := require.Must(observer.Get(t.Context(), once))(t); !unknown(c) {
		t.Errorf("at most once: %+v", c)
	}
	s.startProcess(1, file, false)
	if c := observer.wait(t, many); c.State != durable.StateDone || c.Attempts != 2 {
		t.Errorf("at least once: %+v", c)
	}
	require.Eventually(t, "none waits", func() bool { return len(keeper.Stats().Tools) == 0 })
	if l := lines(t, file); l["once"] != 1 || l["many"] != 2 {
		t.Errorf("the ledger has %v", l)
	}
}

// A plugin that is killed counts as a worker that is: at least once runs the call again, some times.
func TestCrashed(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	crash := func(_ context.Context, text string) (tool.Result, error) {
		if text == "twice" && l.count(text) == 2 {
			return tool.Text("done"), nil
		}
		return tool.Result{}, tool.Errorf(tool.CodeCrashed, "the plugin was killed")
	}
	many, once := noted("many", l, true, crash), noted("once", l, false, crash)
	s.join(1, []tool.Tool{many, once}, trusting(s.peers(0)), func(c *durable.Config) { c.Attempts = 3 })
	caller := s.join(0, nil, remote(many, once), trusting(s.peers(1)))
	for _, want := range []struct {
		tool, text string
		state      durable.State
		runs       int
	}{{"many", "twice", durable.StateDone, 2}, {"many", "ever", durable.StateFailed, 3}, {"once", "once", durable.StateFailed, 1}} {
		c := caller.wait(t, caller.submit(t, durable.Request{Tool: want.tool, Arguments: args(want.text)}))
		if c.State != want.state || c.Attempts != want.runs || l.count(want.text) != want.runs || c.Error != nil && c.Error.Code != tool.CodeCrashed {
			t.Errorf("%s of %s ran %d times: %+v, %v", want.text, want.tool, l.count(want.text), c, c.Error)
		}
	}
}

// A worker finds what is in the queue for it, and does not read what is there for others.
func TestWorkerAsksForItsOwn(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	mine, other := noted("mine", l, true, nil), noted("other", l, true, nil)
	caller := s.join(0, nil, remote(mine, other), trusting(s.peers(1)))
	const others = 600
	for i := range others {
		caller.submit(t, durable.Request{Tool: "other", Arguments: args(fmt.Sprint(i))})
	}
	id := caller.submit(t, durable.Request{Tool: "mine", Arguments: args("mine")})
	worker := s.join(1, []tool.Tool{mine}, trusting(s.peers(0)))
	caller.wait(t, id)
	if in := worker.nc.Stats().InBytes; in > others*85/2 {
		t.Errorf("the worker read %d bytes", in)
	}
}

// A call whose host ended before it was in the queue is ended, though no caller asks for it, and the same call may be
// submitted again.
func TestCallThatIsNotInTheQueue(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	once := noted("once", l, false, nil)
	own := []func(*durable.Config){remote(once), trusting(s.peers(1)), func(c *durable.Config) { c.Lapse = 300 * time.Millisecond }}
	caller := s.join(0, nil, own...)
	submit := func(p *party) string {
		return p.submit(t, durable.Request{Tool: "once", Arguments: args("once"), Caller: "me", IdempotencyKey: "k"})
	}
	id := submit(caller)
	waits := caller.submit(t, durable.Request{Tool: "once", Arguments: args("waits")})
	queue := require.Must(require.Must(jetstream.New(caller.nc))(t).Stream(t.Context(), durable.QueueName))(t)
	require.NoError(t, queue.Purge(t.Context(), jetstream.WithPurgeSubject("toolhost.v1.q.*."+id))) // as if it had not come there
	caller.end()
	observer := s.join(0, nil, append(own, func(c *durable.Config) { c.Existing, c.Lapse = true, time.Hour })...)
	is := func(id string) durable.State { return require.Must(observer.Peek(t.Context(), id))(t).State }
	if is(id) != durable.StateQueued {
		t.Fatalf("it is %s", is(id))
	}
	keeper := s.join(0, nil, own...)
	require.Eventually(t, "it is settled", func() bool { return is(id) == durable.StateFailed })
	if c := require.Must(observer.Peek(t.Context(), id))(t); c.Error.Code != tool.CodeUnavailable || is(waits) != durable.StateQueued {
		t.Errorf("it has ended with %+v, and the other is %s", c.Error, is(waits))
	}
	equalIDs := submit(keeper) == id
	s.join(1, []tool.Tool{once}, trusting(s.peers(0)))
	if c := keeper.wait(t, id); !equalIDs || c.State != durable.StateDone || l.count("once") != 1 {
		t.Errorf("submitted again: %+v, %d times", c, l.count("once"))
	}
	if c := keeper.wait(t, waits); c.State != durable.StateDone {
		t.Errorf("the other: %+v", c)
	}
}
