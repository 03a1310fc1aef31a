// Package fleet joins hosts over NATS: what one shares, others mount, and calls run through the
// chain of both. Begin with [Join]. docs/fleet.md says what is promised, and what happens when
// something fails.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Owner is the name under which the tools of other hosts are attached.
const Owner = "fleet"

// Fleet is a host's part in a fleet. It is the provider of the tools that other hosts share. What it knows is in four
// places, each with a lock of its own; docs/architecture.md has their order.
type Fleet struct {
	mounts    mounts
	directory directory
	routes    routes
	visits    visits
	bell      bell

	host *host.Host
	nc   *nats.Conn
	own  bool // nc is to be closed
	self *link.Instance
	log  hclog.Logger
	now  func() time.Time

	life        context.Context
	end         context.CancelFunc
	running     sync.WaitGroup
	hostChanges <-chan struct{}
	service     micro.Service
	closing     sync.Once
	queue       queue

	settings  atomic.Pointer[configured]
	catalogue atomic.Pointer[catalogue]
	seq       atomic.Uint64
	draining  atomic.Bool
	leaving   atomic.Bool
	serving   atomic.Int32 // calls of other hosts
	announces chan struct{}
}

// bell wakes who waits for a change of hosts, lines or the connection, or for the end of calls.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // closed and replaced when it rings
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// rung returns a channel that is closed when the bell rings.
func (b *bell) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// wait waits until ok returns true, for which the bell rings, and returns false if ctx ended first.
func (b *bell) wait(ctx context.Context, ok func() bool) bool {
	for {
		rung := b.rung()
		if ok() {
			return true
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return false
		}
	}
}

// configured is a configuration in use.
type configured struct {
	Config

	epoch uint64
	names map[string]string // of peers, by key
}

func configure(c Config, epoch uint64) *configured {
	out := &configured{Config: c, epoch: epoch, names: map[string]string{}}
	for name, p := range c.Peers {
		out.names[p.Key] = name
	}
	return out
}

// peerOf returns the host that a key is that of.
func (c *configured) peerOf(key string) (name string, p Peer, known bool) {
	if name, known = c.names[key]; known {
		return name, c.Peers[name], true
	}
	if key == c.Key.public {
		return "", Peer{Key: key, Admin: true}, true
	}
	return "", Peer{}, false
}

// Join connects a host to its fleet: it shares and mounts from then on. The tools of the hosts that
// answer within 0.2 s are mounted when Join returns.
//
// # Errors
//
// [tool.CodeInvalidArguments] for a [Config] that cannot be used; [tool.CodePermissionDenied] if the
// server does not let the host in, or not use its subjects; [tool.CodeUnavailable] if no server is reached and
// [Config.KeepTrying] is false; [tool.CodeAlreadyExists] if the host is in a fleet; the context's end.
func Join(ctx context.Context, h *host.Host, c Config) (*Fleet, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	f, err := newFleet(h, &c)
	if err != nil {
		return nil, err
	}
	f.hostChanges = h.Changes()
	if c.sharesAny() {
		f.catalogue.Store(gather(h, 2, nil))
	}
	err = f.listen(ctx)
	if err == nil {
		states := f.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
		f.background(func() {
			defer f.nc.RemoveStatusListener(states)
			f.followConnection(states)
		})
		f.background(f.followHost)
		f.background(f.announce)
		f.meet(ctx)
		err = cannotJoin(f.denied()) // to announce it, or to ask who is there
		f.mounts.told()
	}
	if err == nil {
		f.background(f.followQueue)      // what the server says to it replaces what denied looks at
		_, err = h.Attach(ctx, Owner, f) // though nothing is mounted: Reconfigure may change that
		if e := new(tool.Error); errors.As(err, &e) && e.Tool != "" {
			f.log.Warn("tools of other hosts cannot be used", "error", err)
			err = nil // the others are attached: no host may keep this one from joining
		}
	}
	if err != nil {
		_ = f.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return f, nil
}

// newFleet returns a part in a fleet that has a connection, and does nothing yet.
func newFleet(h *host.Host, c *Config) (*Fleet, error) {
	self, err := link.NewInstance()
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		host: h, self: self, log: c.Log, now: c.Now, announces: make(chan struct{}, 1), bell: bell{next: make(chan struct{})},
		directory: directory{members: map[string]*member{}, departed: map[string]uint64{}, strangers: map[string]*stranger{}},
		visits:    visits{byInstance: map[string]*visit{}, accounts: map[string]*account{}},
		queue:     newQueue(),
	}
	f.mounts = mounts{
		host: h, settings: &f.settings, directory: &f.directory, changes: make(chan struct{}, 1), offers: map[string][]*offer{},
		tools: map[string]*mounted{}, unfit: map[string]bool{}, defs: map[string]*definition{},
	}
	f.routes = routes{
		directory: &f.directory, bonds: map[bondKey]*bond{}, visited: map[string]map[string]bool{}, endings: map[string][]string{},
	}
	if f.log == nil {
		f.log = hclog.NewNullLogger()
	}
	if f.now == nil {
		f.now = time.Now
	}
	f.settings.Store(configure(*c, 1))
	f.life, f.end = context.WithCancel(context.Background())
	f.catalogue.Store(&catalogue{revision: 1})
	if f.nc = c.Conn; f.nc == nil {
		f.own = true
		if err = f.dial(c); err != nil {
			f.end()
			return nil, err
		}
	}
	return f, nil
}

// Reconfigure changes what is shared, mounted, known and accepted. The connection, the key and the
// name stay.
//
// # Errors
//
// Those of [Config.Check]: nothing changes.
func (f *Fleet) Reconfigure(c Config) error {
	old := f.settings.Load()
	c.URL, c.Conn, c.Key, c.Name, c.Log, c.Now = old.URL, old.Conn, old.Key, old.Name, old.Log, old.Now
	if err := c.Check(); err != nil {
		return err
	}
	now := configure(c, old.epoch+1)
	f.settings.Store(now)
	if c.sharesAny() {
		before := f.catalogue.Load()
		f.catalogue.Store(gather(f.host, before.revision+1, nil))
	}
	f.announceSoon()
	f.queue.rouse()
	var gone []*member
	d := &f.directory
	d.mu.Lock()
	for _, m := range d.members {
		peer, _, known := now.peerOf(m.key)
		if m.peer = peer; !known {
			gone = append(gone, m)
			f.drop(m, "its key is not known any more")
		}
		m.wake()
	}
	maps.DeleteFunc(d.strangers, func(_ string, s *stranger) bool {
		_, _, known := now.peerOf(s.said.Key)
		return known
	})
	d.mu.Unlock()
	f.gone(gone...)
	f.mounts.refitAll()
	return nil
}

// Drain has a host take no new calls, or take them again. Empty: this host. It returns when the
// host has said so, not when its calls have ended.
//
// # Errors
//
// [tool.CodeNotFound] for a host that is not there; [tool.CodeAlreadyExists] if several have the name;
// [tool.CodePermissionDenied] if it does not let this one drain it; [tool.CodeUnavailable].
func (f *Fleet) Drain(ctx context.Context, name string, on bool) error {
	m, err := f.one(name)
	if err != nil {
		return err
	}
	if m == nil {
		f.setDraining(on)
		return nil
	}
	return m.told(ctx, drainOperation, drainRequest{on}, new(struct{}))
}

// Drained returns when a host that drains has ended the calls of other hosts. Empty: this host.
//
// # Errors
//
// Those of [Fleet.Drain]; [tool.CodeCanceled] if it takes calls again; the context's end.
func (f *Fleet) Drained(ctx context.Context, name string) error {
	m, err := f.one(name)
	if err != nil {
		return err
	}
	for {
		var now drainState
		if m == nil {
			now = f.drainState(ctx)
		} else if err = m.told(ctx, drainedOperation, struct{}{}, &now); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !now.Draining:
			return tool.Errorf(tool.CodeCanceled, "host %s takes calls again", cmp.Or(name, f.settings.Load().Name))
		case now.Calls == 0:
			return nil
		}
	}
}

// one returns the host that a name is that of; nil: it is this one.
func (f *Fleet) one(name string) (*member, error) {
	if name == "" {
		return nil, nil
	}
	c := f.settings.Load()
	f.directory.mu.Lock()
	found := f.directory.named(name)
	f.directory.mu.Unlock()
	self := name == c.Name || name == f.self.ID()
	switch {
	case self && len(found) == 0:
		return nil, nil
	case len(found) == 0:
		e := tool.Errorf(tool.CodeNotFound, "no host of the fleet is called %.70q", name)
		e.OperatorHint = "toolhost fleet shows the hosts"
		return nil, e
	case self || len(found) > 1:
		e := tool.Errorf(tool.CodeAlreadyExists, "several hosts of the fleet are called %s", name)
		e.OperatorHint = "use the instance, which toolhost fleet --json shows"
		return nil, e
	}
	return found[0], nil
}

// drainPoll bounds how long a host is asked to wait for the end of its calls before it answers.
const drainPoll = 10 * time.Second

// drainState returns how a host drains that does, as soon as it has no calls of other hosts any more,
// or after a while.
func (f *Fleet) drainState(ctx context.Context) drainState {
	ctx, cancel := context.WithTimeout(ctx, drainPoll)
	defer cancel()
	f.bell.wait(ctx, func() bool { return f.serving.Load() == 0 || !f.draining.Load() })
	return drainState{f.draining.Load(), int(f.serving.Load())}
}

func (f *Fleet) setDraining(on bool) {
	if f.draining.Swap(on) != on {
		f.queue.drain(on)
		f.announceSoon()
		f.bell.ring()
	}
}

// Leave says that the host leaves and takes no new calls, and waits until those of other hosts have
// ended.
//
// # Errors
//
// The context's end: there are still calls.
func (f *Fleet) Leave(ctx context.Context) error {
	f.setDraining(true)
	if !f.bell.wait(ctx, func() bool { return f.serving.Load() == 0 }) {
		return context.Cause(ctx)
	}
	return nil
}

// leaveTime bounds how long a host that leaves waits until others have hung up: until then it answers
// calls that were under way to it, with a refusal.
const leaveTime = time.Second

// Close implements [tool.Provider]: it leaves the fleet. Calls in progress end.
func (f *Fleet) Close(ctx context.Context) error {
	f.closing.Do(func() {
		f.draining.Store(true)
		f.leaving.Store(true)
		if data, err := f.announcement(true); err == nil && f.nc.IsConnected() {
			_ = f.nc.Publish(helloSubject, data)
			goodbye, cancel := context.WithTimeout(ctx, leaveTime)
			f.bell.wait(goodbye, func() bool { return !f.visits.any() || !f.nc.IsConnected() })
			cancel()
		}
		f.directory.close()
		visits := f.visits.close()
		f.bell.ring()
		f.end()
		for _, v := range visits {
			v.leave()
		}
		f.queue.close(ctx)
		if f.service != nil {
			_ = f.service.Stop()
		}
		if f.own {
			f.nc.Close()
		}
		f.running.Wait()
		f.mounts.close()
		f.host.Unregister(Owner)
	})
	return nil
}
