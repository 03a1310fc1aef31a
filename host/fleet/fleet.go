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

// Fleet is a host's part in a fleet. It is the provider of the tools that other hosts share.
type Fleet struct {
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
	changes     chan struct{}
	service     micro.Service
	closing     sync.Once
	queue       queue

	settings  atomic.Pointer[configured]
	catalogue atomic.Pointer[catalogue]
	seq       atomic.Uint64
	draining  atomic.Bool
	leaving   atomic.Bool
	known     atomic.Int32  // other hosts that are known
	serving   atomic.Int32  // calls of other hosts
	strange   atomic.Uint64 // messages that were not understood, or not of a known host
	announces chan struct{}

	compiling sync.Mutex // held while a schema is compiled

	mu               sync.Mutex
	closed           bool
	lostBy           string        // the error with which the connection was lost, until there is another one
	changed          chan struct{} // closed and replaced when hosts, lines or the connection change
	members          map[string]*member
	departed         map[string]uint64 // the last numbers that hosts which are gone have said, at most maxDeparted
	strangers        map[string]*stranger
	strangersSince   time.Time
	strangersChecked int
	offers           map[string][]*offer    // by the name here, sorted by host
	tools            map[string]*mounted    // see mountedAs
	unfit            map[string]bool        // names that tools has as they were
	defs             map[string]*definition // by digest
	shadowed         map[string]bool        // mounted tools whose name the host itself uses
	telling          bool                   // the registry is about to be told of a change
	untold           bool                   // there is one that the registry has not been told
	bonds            map[bondKey]*bond
	visited          map[string]map[string]bool // the instances that a session has called, by session
	endings          map[string][]string        // sessions that have ended, by the instance that is to be told
	visits           map[string]*visit          // by instance
	accounts         map[string]*account        // by key
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
		f.told()
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
		host: h, self: self, log: c.Log, now: c.Now, changes: make(chan struct{}, 1), announces: make(chan struct{}, 1),
		changed: make(chan struct{}), members: map[string]*member{}, departed: map[string]uint64{}, strangers: map[string]*stranger{},
		offers: map[string][]*offer{}, tools: map[string]*mounted{}, unfit: map[string]bool{},
		defs: map[string]*definition{}, bonds: map[bondKey]*bond{},
		visited: map[string]map[string]bool{}, endings: map[string][]string{}, visits: map[string]*visit{}, accounts: map[string]*account{},
		queue: newQueue(),
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
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		peer, _, known := now.peerOf(m.key)
		if !known {
			f.remove(m, "its key is not known any more")
			continue
		}
		m.peer, m.have = peer, 0
		m.wake()
	}
	maps.DeleteFunc(f.strangers, func(_ string, s *stranger) bool {
		_, _, known := now.peerOf(s.said.Key)
		return known
	})
	for name := range f.offers {
		f.fit(name)
	}
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
	f.mu.Lock()
	found := f.named(name)
	f.mu.Unlock()
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
	f.wait(ctx, func() bool { return f.serving.Load() == 0 || !f.draining.Load() })
	return drainState{f.draining.Load(), int(f.serving.Load())}
}

func (f *Fleet) setDraining(on bool) {
	if f.draining.Swap(on) != on {
		f.queue.drain(on)
		f.announceSoon()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.signal()
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
	if !f.wait(ctx, func() bool { return f.serving.Load() == 0 }) {
		return context.Cause(ctx)
	}
	return nil
}

// wait waits until ok returns true, which a signal announces, and returns false if ctx ended first.
func (f *Fleet) wait(ctx context.Context, ok func() bool) bool {
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
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
			f.wait(goodbye, func() bool { return !f.hasGuests() || !f.nc.IsConnected() })
			cancel()
		}
		f.mu.Lock()
		f.closed = true
		for _, m := range f.members {
			m.timer.Stop()
			m.end()
			if m.line != nil {
				m.line.fail(errors.New("this host leaves the fleet"))
				m.line = nil
			}
		}
		visits := f.visits
		f.visits = map[string]*visit{}
		f.signal()
		f.mu.Unlock()
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
		f.mu.Lock()
		close(f.changes)
		f.mu.Unlock()
		f.host.Unregister(Owner)
	})
	return nil
}

// leave ends the links and sessions of a visit.
func (v *visit) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
	}
	for _, g := range v.guests {
		_ = g.link.Close()
	}
	for _, s := range v.sessions {
		_ = s.base.Close(context.Background())
	}
	v.sessions = map[sessionKey]*visitor{}
}
