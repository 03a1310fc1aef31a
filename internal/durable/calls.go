// Package durable runs calls that survive the restart of who submitted them and of who runs them:
// they wait in a queue of NATS JetStream, and their results in a bucket. Begin with [Open].
//
// A call belongs to the key of the host that submitted it, which signs it. Hosts that share its tool
// with that host take it from the queue when they have a slot. The first thing that a worker does is to
// replace the call's record, as its host stored it, by its claim, which the server lets happen once; so
// what a stranger puts into the queue again runs no second time. What is stored is signed by its
// writer, and believed only of hosts that may say it. Who may write to the account's streams can
// still delete and delay calls: their permissions are the NATS operator's.
package durable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Calls are the durable calls of a host: those that it submits, and those that it runs.
type Calls struct {
	cfg    Config
	store  *store
	worker *worker
	stop   context.CancelFunc // of everything but calls that run
	done   sync.WaitGroup     // what stop ends
	news   news
	keeps  sync.Once // it looks after the calls of its key
}

// Stats are counts since the start, and what runs.
type Stats struct {
	// Running is how many calls run here, and Slots how many may.
	Running int `json:"running"`
	Slots   int `json:"slots"`
	// Queued is how many calls of all hosts were in the queue when this one looked last, which may be
	// half a minute ago, with those that run at least once.
	Queued uint64 `json:"queued"`
	// Tools are how many calls of the host's key no worker has begun, by the name of the tool where it runs; beyond 200
	// tools, one counts as "(other)".
	Tools map[string]uint64 `json:"tools,omitempty"`
	// Ran is how many attempts have ended here.
	Ran uint64 `json:"ran"`
	// Refused is how many messages in the queue were refused: forged, damaged, or there again.
	Refused uint64 `json:"refused"`
	// State is how full the records of calls are, and Results their results, by all hosts, half a minute ago at most.
	State   Level `json:"state"`
	Results Level `json:"results"`
	// Differs is what is kept in another way than [Storage] says, and why.
	Differs []string `json:"differs,omitempty"`
}

// Open makes sure that the queue and the bucket are there, and begins to run the calls of tools that
// the host shares.
//
// # Errors
//
// [tool.CodeInvalidArguments] for a [Config] that cannot be used; [tool.CodeUnavailable] if the
// server or the account has no JetStream, or no room for the streams; the context's end.
func Open(ctx context.Context, cfg Config) (*Calls, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s, err := openStore(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	c := &Calls{cfg: cfg, store: s}
	run, stop := context.WithCancel(context.Background())
	c.stop = stop
	if c.worker, err = c.work(run); err != nil {
		stop()
		return nil, unavailable("subscribing", err)
	}
	c.done.Go(func() { s.follow(run, &c.cfg) })
	if !cfg.Existing {
		c.keep()
	}
	return c, nil
}

// Close takes no more calls, and waits until those that run here have ended. When ctx ends first, it
// interrupts them: those that may run again go back to the queue, the others fail with
// [ErrOutcomeUnknown]. Calls that wait are left as they are.
func (c *Calls) Close(ctx context.Context) error {
	c.news.mu.Lock() // so that no listener begins while it is waited for
	c.stop()
	c.news.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		c.done.Wait()
		c.worker.jobs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	c.worker.hurry(errClosing)
	<-ended
	return context.Cause(ctx)
}

// Drain has the host take no more calls from the queue, or take them again. Those that run go on.
func (c *Calls) Drain(on bool) {
	c.worker.paused.Store(on)
	c.worker.told.Store(true)
	c.worker.rouse()
}

// Stats returns what the host has done for the queue.
func (c *Calls) Stats() Stats {
	return Stats{
		Running: c.worker.inProgress(), Slots: c.cfg.Slots, Queued: c.store.inQueue(), Tools: c.news.waits(),
		Ran: c.worker.ran.Load(), Refused: c.worker.refused.Load(),
		State: c.store.level(StateName), Results: c.store.level(ResultsName), Differs: c.store.differs(),
	}
}

// news tells who waits that a record has changed, and knows the calls that have not ended.
type news struct {
	mu      sync.Mutex
	end     context.CancelFunc // of the watcher; nil: there is none
	made    uint64             // the connection that it is on
	waiting map[string]map[chan struct{}]bool
	open    map[string]sighting // by ID
}

// sighting is a record as the server has told of it. What it says is not checked: it is read again before
// anything is decided.
type sighting struct {
	revision uint64
	due      time.Time // when to look at it, by the server's clock
	expires  time.Time // when to look at one that no worker has begun again
	since    time.Time // when it was told first, on this connection
	tool     string    // that the call waits for; empty: a worker has begun
}

// maxOpen bounds the calls that are looked after, which is more than the queue has.
const maxOpen = 20_000

// of returns a channel that receives a value when the record of a call may have changed.
func (n *news) of(id string) (changed chan struct{}, end func()) {
	changed = make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = map[string]map[chan struct{}]bool{}
	}
	if n.waiting[id] == nil {
		n.waiting[id] = map[chan struct{}]bool{}
	}
	n.waiting[id][changed] = true
	return changed, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if delete(n.waiting[id], changed); len(n.waiting[id]) == 0 {
			delete(n.waiting, id)
		}
	}
}

func (n *news) tell(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for changed := range n.waiting[id] {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// tellAll has all who wait look: what has changed before is not told.
func (n *news) tellAll() {
	n.mu.Lock()
	ids := slices.Collect(maps.Keys(n.waiting))
	n.mu.Unlock()
	for _, id := range ids {
		n.tell(id)
	}
}

// note keeps what was told of a record.
func (n *news) note(id string, e jetstream.KeyValueEntry, lapse time.Duration) {
	var seen sighting
	if e.Operation() == jetstream.KeyValuePut {
		seen = glance(e, lapse)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch _, known := n.open[id]; {
	case seen.due.IsZero():
		delete(n.open, id)
	case known || len(n.open) < maxOpen:
		n.open[id] = seen
	}
}

// mostTools bounds the tools whose calls are counted apart.
const mostTools = 200

// waits returns how many calls no worker has begun, by their tool.
func (n *news) waits() map[string]uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]uint64{}
	for _, seen := range n.open {
		name := seen.tool
		if name != "" && out[name] == 0 && len(out) >= mostTools {
			name = "(other)"
		}
		out[name]++
	}
	delete(out, "")
	return out
}

// since returns for how long the server has said, over one connection, that this is the record: when the server was
// away, the worker needs time to report too.
func (n *news) since(id string, revision uint64) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if seen, ok := n.open[id]; ok && seen.revision == revision {
		return time.Since(seen.since)
	}
	return 0
}

// overdue returns the calls to look at.
func (n *news) overdue(now time.Time) (ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, seen := range n.open {
		if !seen.due.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

// looked has a call that no worker has begun looked at again when it expires.
func (n *news) looked(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if seen, ok := n.open[id]; ok && seen.expires.After(seen.due) {
		seen.due = seen.expires
		n.open[id] = seen
	}
}

// doubt has what was told count from now on: the server did not answer.
func (n *news) doubt() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, seen := range n.open {
		seen.since = time.Now()
		n.open[id] = seen
	}
}

// keep has the calls of the host's key looked after until [Calls.Close], whoever submitted them: those whose
// worker is dead, or that none took in time, are ended, though no caller asks for them.
func (c *Calls) keep() {
	c.keeps.Do(func() {
		c.done.Go(func() {
			tick := time.NewTicker(c.cfg.Lapse / 4)
			defer tick.Stop()
			for c.worker.life.Err() == nil {
				c.listen()
				if err := c.lookAfter(c.worker.life); err != nil {
					c.news.doubt()
				}
				select {
				case <-tick.C:
				case <-c.worker.life.Done():
				}
			}
		})
	})
}

// lookAfter ends the calls that have to be.
func (c *Calls) lookAfter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ioTime)
	defer cancel()
	now, err := c.store.now(ctx)
	if err != nil {
		return err
	}
	for _, id := range c.news.overdue(now) {
		if _, err := c.Peek(ctx, id); tool.CodeOf(err) == tool.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		c.news.looked(id)
	}
	return nil
}

// listen has [news] told of changes, until [Calls.Close]. Without it, who waits looks from time to
// time. A watcher notices late that its server was restarted, or what it watches deleted: it gets a successor.
// It does not wait for the server, which may not answer.
func (c *Calls) listen() {
	c.news.mu.Lock()
	defer c.news.mu.Unlock()
	made := connects(c.cfg.Conn) + c.store.remade.Load()
	if c.news.end != nil && c.news.made == made || c.worker.life.Err() != nil || !c.cfg.Conn.IsConnected() {
		return
	}
	if c.news.end != nil {
		c.news.end()
	}
	ctx, cancel := context.WithCancel(c.worker.life)
	c.news.end, c.news.made, c.news.open = cancel, made, map[string]sighting{}
	c.done.Go(func() {
		defer cancel()
		c.watch(ctx)
		c.news.mu.Lock()
		defer c.news.mu.Unlock()
		if ctx.Err() == nil { // it has no successor
			c.news.end = nil
		}
	})
}

// watch tells of changes, until ctx ends or the server does not tell of them.
func (c *Calls) watch(ctx context.Context) {
	prefix := owner(c.cfg.Key.Public()) + "."
	w, err := c.store.bucket.Watch(ctx, prefix+"*")
	if err != nil {
		if ctx.Err() == nil {
			c.cfg.Log.Warn("changes of durable calls are not told", "error", err)
		}
		return
	}
	defer w.Stop() //nolint:errcheck // there is nothing to be done
	c.news.tellAll()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Updates():
			if !ok {
				return
			}
			if e != nil && ctx.Err() == nil {
				id := e.Key()[len(prefix):]
				c.news.note(id, e, c.cfg.Lapse)
				c.news.tell(id)
			}
		}
	}
}

// connects counts how often the connection was made.
func connects(nc *nats.Conn) uint64 { return nc.Stats().Reconnects }

func unavailable(doing string, err error) *tool.Error {
	return tool.Errorf(tool.CodeUnavailable, "durable calls cannot be used: %s: %w", doing, err)
}
