package durable

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host"
)

// mounted owns the tools of other hosts, which are not shared again.
const mounted = "fleet"

// worker takes calls from the queue. It fetches only what it has slots for; that something came is
// told by nudges, and found out from time to time without them.
type worker struct {
	*Calls
	life    context.Context // until Close
	base    context.Context // of the jobs
	hurry   context.CancelCauseFunc
	paused  atomic.Bool
	warned  atomic.Int64 // when a message was last said to be refused, in ns
	wake    chan struct{}
	jobs    sync.WaitGroup
	ran     atomic.Uint64
	refused atomic.Uint64

	// By token; of the goroutine that serves.
	consumers map[string]jetstream.Consumer
	looked    map[string]uint64 // the newest message when the queue had none for it

	mu      sync.Mutex
	offers  map[string]string // the tools that are shared, by token
	ready   []string          // tokens that may have calls, each once
	running map[string]*job   // by ID
	free    int
	missing bool // the last look failed

	told atomic.Bool // there may be more in the queue than at the last look
}

func (c *Calls) work(life context.Context) (*worker, error) {
	w := &worker{
		Calls: c, life: life, wake: make(chan struct{}, 1), consumers: map[string]jetstream.Consumer{}, looked: map[string]uint64{},
		running: map[string]*job{}, free: c.cfg.Slots,
	}
	w.base, w.hurry = context.WithCancelCause(context.Background())
	subs := []*nats.Subscription{}
	for subject, f := range map[string]func(string){nudges: w.nudge, interrupt: w.look} {
		sub, err := c.cfg.Conn.Subscribe(subject+"*", func(m *nats.Msg) { f(strings.TrimPrefix(m.Subject, subject)) })
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
	}
	c.done.Go(func() {
		w.serve(life)
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may be closed
		}
	})
	return w, nil
}

// nudge notes that there may be a call for a token.
func (w *worker) nudge(tok string) {
	w.told.Store(true) // of a tool that may be shared by now
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.offers[tok] != "" {
		w.add(tok)
	}
}

// add notes that a token may have calls. It holds the lock.
func (w *worker) add(tok string) {
	for _, t := range w.ready {
		if t == tok {
			return
		}
	}
	w.ready = append(w.ready, tok)
	w.rouse()
}

func (w *worker) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// look has a job that runs look at its record.
func (w *worker) look(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.running[id]; j != nil {
		select {
		case j.changed <- struct{}{}:
		default:
		}
	}
}

func (w *worker) inProgress() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cfg.Slots - w.free
}

// What the server tells of the queue takes about so many bytes, and so many more for each call.
const (
	infoBytes    = 1000
	subjectBytes = 85
)

// idleTicks is how many times rarer the host looks at an empty queue.
const idleTicks = 6

func (w *worker) serve(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Lapse / 2)
	defer tick.Stop()
	w.poll(ctx)
	made := connects(w.cfg.Conn)
	for idle := 0; ; {
		for w.next(ctx) {
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-tick.C:
			now := connects(w.cfg.Conn)
			if idle++; idle < idleTicks && !w.told.Swap(false) && !w.missing && now == made && w.store.inQueue() == 0 {
				continue
			}
			idle, made = 0, now
			w.poll(ctx)
		}
	}
}

// poll finds out which tools are shared, and which of them have calls in the queue: those that no
// nudge told of, such as what a dead worker has left. It costs what this host shares, and not what the queue has.
func (w *worker) poll(ctx context.Context) {
	offers := w.offered()
	w.mu.Lock()
	w.offers = offers
	busy := w.free == 0
	w.mu.Unlock()
	for tok := range w.consumers {
		if offers[tok] == "" {
			delete(w.consumers, tok)
		}
	}
	info, err := w.store.queue.Info(ctx)
	var found []string
	if err == nil {
		w.store.sync(info)
		if len(offers) > 0 && !busy && !w.paused.Load() && info.State.Msgs > 0 {
			found, err = w.find(ctx, info, offers)
		}
	}
	if err != nil && !w.missing && ctx.Err() == nil {
		w.cfg.Log.Warn("the queue of durable calls is not to be seen", "error", err)
	}
	w.missing = err != nil
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tok := range found {
		w.add(tok)
	}
}

// find returns the tokens of own tools that may have calls in the queue. Those that have a consumer are asked
// through it; of the others, each is looked for, or all subjects if they are fewer bytes.
func (w *worker) find(ctx context.Context, info *jetstream.StreamInfo, offers map[string]string) (found []string, err error) {
	var others []string
	looked := w.looked
	w.looked = map[string]uint64{}
	for tok := range offers {
		switch {
		case w.consumers[tok] != nil:
			found = append(found, tok)
		case looked[tok] != info.State.LastSeq:
			others = append(others, tok)
		default: // there was nothing for it, and nothing came
			w.looked[tok] = info.State.LastSeq
		}
	}
	filters := []string{subjects + ">"}
	if ofEach := uint64(len(others)); ofEach*infoBytes < info.State.NumSubjects*subjectBytes {
		filters = nil
		for _, tok := range others {
			filters = append(filters, subjects+tok+".*")
		}
	}
	for _, filter := range filters {
		all, err := w.store.queue.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return nil, err
		}
		for subject := range all.State.Subjects {
			if tok, _ := idOfSubject(subject); offers[tok] != "" {
				found = append(found, tok)
			}
		}
	}
	for _, tok := range others {
		if !slices.Contains(found, tok) {
			w.looked[tok] = info.State.LastSeq
		}
	}
	return found, nil
}

// offered returns the names of the tools that a peer, or the host itself, may have called, by token.
func (w *worker) offered() map[string]string {
	out := map[string]string{}
	var patterns []string
	for _, p := range w.cfg.Peers() {
		patterns = append(patterns, p.Share...)
	}
	for _, t := range w.cfg.Host.Tools(host.Filter{Without: mounted}) {
		shared, own := !t.Own && Matches(patterns, t.Name), w.cfg.Own(t.Name)
		if !shared && !own {
			continue
		}
		digest := Digest(t.Definition)
		if shared {
			out[token(t.Name, digest, "")] = t.Name
		}
		if own {
			out[token(t.Name, digest, w.cfg.Name)] = t.Name
		}
	}
	return out
}

// next fetches calls of one token, and reports whether there may be more.
func (w *worker) next(ctx context.Context) (more bool) {
	w.mu.Lock()
	if ctx.Err() != nil || w.paused.Load() || w.free == 0 || len(w.ready) == 0 {
		w.mu.Unlock()
		return false
	}
	tok := w.ready[0]
	w.ready = w.ready[1:]
	slots := w.free
	if others := len(w.ready); others > 0 {
		slots = max(1, slots/(others+1)) // so that one tool does not take them all
	}
	w.free -= slots
	w.mu.Unlock()

	got, err := w.fetch(ctx, tok, slots)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += slots - got
	if err != nil {
		delete(w.consumers, tok) // it may be gone; the next look makes it again
		w.told.Store(true)
		if ctx.Err() == nil && !errors.Is(err, nats.ErrConnectionClosed) {
			w.cfg.Log.Debug("durable calls were not fetched", "tool", w.offers[tok], "error", err)
		}
	} else if got > 0 && w.offers[tok] != "" {
		w.add(tok)
	}
	return true
}

func (w *worker) fetch(ctx context.Context, tok string, most int) (got int, err error) {
	c := w.consumers[tok]
	if c == nil {
		c, err = w.store.queue.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: tok, FilterSubject: subjects + tok + ".*", AckPolicy: jetstream.AckExplicitPolicy, AckWait: w.cfg.Lapse,
			MaxDeliver: -1, MaxAckPending: -1, InactiveThreshold: w.cfg.Keep, // how often is counted by who gets it
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = w.store.queue.Consumer(ctx, tok)
		}
		if err != nil {
			return 0, err
		}
		w.consumers[tok] = c
	}
	batch, err := c.FetchNoWait(most)
	if err != nil {
		return 0, err
	}
	for m := range batch.Messages() {
		got++
		w.start(m, c.CachedInfo().Config.AckWait)
	}
	return got, batch.Error()
}

// start runs what a message says, in a slot of its own.
func (w *worker) start(m jetstream.Msg, wait time.Duration) {
	j := &job{
		worker: w, msg: m, lapse: max(minLapse, min(w.cfg.Lapse, wait)), changed: make(chan struct{}, 1),
		log: w.cfg.Log.With("subject", m.Subject()),
	}
	j.ctx, j.cancel = context.WithCancelCause(w.base)
	w.jobs.Go(func() {
		j.run()
		j.cancel(nil)
		w.told.Store(true) // it may have been given back
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running[j.id] == j {
			delete(w.running, j.id)
		}
		w.free++
		w.rouse()
	})
}

// enter has a call found by its ID. False: it runs here, by that message if same.
func (w *worker) enter(j *job, id string) (entered, same bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there := w.running[id]; there != nil {
		return false, there.sequence == j.sequence
	}
	j.id, w.running[id] = id, j
	return true, false
}
