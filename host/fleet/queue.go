package fleet

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// queue is the host's part in the queue of durable calls. It is opened when a rule is durable, or [Queue.Make] is set,
// which makes what is missing of it on the server; by a host that only shares tools, when it is there.
type queue struct {
	*presence
	mounts   *mounts
	calls    atomic.Pointer[durable.Calls] // nil: it is not open
	openSoon signal
	turn     chan struct{} // has a token while it is opened

	following atomic.Int64 // see followed

	mu     sync.Mutex
	err    error     // why it is not open
	tried  time.Time // when err came
	made   bool      // that attempt was to make what is missing
	closed bool
}

const (
	// openTime bounds an attempt to open the queue.
	openTime = 5 * time.Second
	// openPause is the least time between two attempts.
	openPause = time.Second
	// openAgain is after how long the next one is made that nothing gives a reason for.
	openAgain = 30 * time.Second
)

// close gives running calls back that may run again, if ctx ends before they have.
func (q *queue) close(ctx context.Context) {
	q.turn <- struct{}{}
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	<-q.turn
	c := q.calls.Load()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	_ = c.Close(ctx) // the calls say how they ended
}

// open returns the durable calls, and opens the queue if it is not open. Makes says whether it
// makes on the server what is missing.
func (q *queue) open(ctx context.Context, makes bool) (*durable.Calls, error) {
	if c := q.calls.Load(); c != nil {
		return c, nil
	}
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c := q.calls.Load(); c != nil {
		return c, nil
	}
	q.mu.Lock()
	closed, err := q.closed, q.err
	if time.Since(q.tried) > openPause || makes && !q.made {
		err = nil
	}
	q.mu.Unlock()
	switch {
	case closed:
		return nil, tool.Errorf(tool.CodeUnavailable, "the host leaves its fleet").NeverSent()
	case err != nil:
		return nil, err
	case !q.nc.IsConnected():
		return nil, tool.Errorf(tool.CodeUnavailable, "the connection to the NATS server is lost").NeverSent()
	}
	open, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	c, err := durable.Open(open, q.config(!makes))
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			q.err, q.tried, q.made = err, time.Now(), makes
		}
		return nil, err
	}
	q.err = nil
	c.Drain(q.draining.Load())
	q.calls.Store(c)
	c.Drain(q.draining.Load()) // which may have changed just now
	return c, nil
}

func (q *queue) config(existing bool) durable.Config {
	c := q.settings.Load()
	return durable.Config{
		Conn: q.nc, Host: q.host, Key: c.Key, Name: c.Name, Existing: existing, Log: q.log, Now: q.now,
		Slots: c.Queue.Slots, Lapse: c.Queue.Lapse, Storage: c.Queue.storage(),
		Peers: q.peers, Accept: q.accept, Find: q.find, Repeatable: q.repeats,
		Track: q.serve, Own: func(tool string) bool { return q.ownMode(tool) != "" },
	}
}

// peers returns the hosts that are known.
func (q *queue) peers() map[string]durable.Peer {
	out := map[string]durable.Peer{}
	for key, p := range q.settings.Load().known {
		out[key] = durable.Peer{Name: p.name, Share: p.Share, Mount: p.Mount}
	}
	return out
}

func (q *queue) accept(by Caller) ([]host.SessionOption, error) {
	if accept := q.settings.Load().Accept; accept != nil {
		return accept(by)
	}
	return nil, nil
}

// find returns the version of a mounted tool that its rule chooses.
func (q *queue) find(name string) (durable.Target, error) {
	t := q.mounts.tool(name)
	if t == nil {
		return durable.Target{}, notShared(name)
	}
	v := t.versions[0]
	if v.reason != "" {
		return durable.Target{}, noHost(name, v.reason)
	}
	return durable.Target{
		Tool: v.offers[0].Name, Digest: v.digest, Repeatable: v.def.Get().Idempotent || t.durable == durable.AtLeastOnce,
	}, nil
}

// ownMode returns how often calls of a tool of this host itself may run; empty: they are not durable. Only a rule that
// names the tool makes them so: patterns are meant for tools of others.
func (q *queue) ownMode(name string) durable.Mode {
	if rule := q.settings.Load().ruleOf(name); rule.Tools == name {
		return rule.Durable
	}
	return ""
}

// repeats reports whether the operator says of a tool of this host that it may run again.
func (q *queue) repeats(name string) bool {
	return q.settings.Load().ruleOf(name).Durable == durable.AtLeastOnce
}

// follow opens the queue as soon as it can be, and says once why it cannot. A host that only shares does not
// ask a server again that has refused it, before it is told of a call or has another connection.
func (q *queue) follow() {
	var used atomic.Bool // there are durable calls in this fleet
	nudged, err := q.nc.Subscribe(durable.Nudges, func(*nats.Msg) {
		used.Store(true)
		q.openSoon.send()
	})
	if err != nil {
		return // the connection is closed
	}
	defer nudged.Unsubscribe() //nolint:errcheck // the connection may be closed
	said := ""
	for q.calls.Load() == nil {
		c := q.settings.Load()
		refused := false
		if makes := c.makesQueue(); q.nc.IsConnected() && (makes || c.sharesAny()) {
			_, err := q.open(q.life, makes)
			refused = err != nil && !makes && aboutQueue(q.nc.LastError())
			if err != nil && q.life.Err() == nil && (makes || refused && used.Load()) && err.Error() != said {
				said = err.Error()
				text := "the tools whose rule is durable cannot be called"
				if !makes {
					text = "the durable calls of other hosts do not run here"
				}
				q.log.Warn(text, "error", err)
			}
			if !pause(q.life, openPause) {
				return
			}
		}
		var again <-chan time.Time
		if !refused {
			again = time.After(openAgain)
		}
		select {
		case <-q.openSoon:
		case <-again:
		case <-q.life.Done():
			return
		}
	}
}

func (c *Config) makesQueue() bool {
	return c.Queue.Make || c.Queue.storage() != (durable.Storage{}) || slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Durable != "" })
}

func (q Queue) storage() durable.Storage {
	return durable.Storage{Replicas: q.Replicas, Bytes: q.Bytes, Keep: q.Keep}
}

// restore has the queue kept as other settings say.
func (q *queue) restore() {
	if c := q.calls.Load(); c != nil {
		c.Set(q.settings.Load().Queue.storage())
	}
}

// QueueStatus is the queue of durable calls, as this host sees it.
type QueueStatus struct {
	// Open says that this host takes part in it; Reason is why not, though it should.
	Open   bool   `json:"open"`
	Reason string `json:"reason,omitempty"`
	durable.Stats
}

// Queue returns how the queue of durable calls is. It asks no server.
func (q *queue) Queue() QueueStatus {
	if c := q.calls.Load(); c != nil {
		return QueueStatus{Open: true, Stats: c.Stats()}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var out QueueStatus
	if c := q.settings.Load(); c.makesQueue() {
		if out.Reason = "it has not been opened yet"; q.err != nil {
			out.Reason = q.err.Error()
		}
	}
	return out
}
