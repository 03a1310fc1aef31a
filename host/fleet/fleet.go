// Package fleet joins hosts over NATS: what one shares, others mount, and calls run through the
// chain of both. docs/fleet.md says what is promised, and what happens when something fails.
//
//	key, err := fleet.KeyFile("fleet.key") // made if it is not there
//	if err != nil {
//		return err
//	}
//	h, err := host.New()
//	if err != nil {
//		return err
//	}
//	defer func() { _ = h.Close(ctx) }()
//	_, err = fleet.Join(ctx, h, fleet.Config{URL: "nats://127.0.0.1:4222", Key: key, Name: "program", Mount: []string{"*"}})
//	return err
package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Owner is the name under which the tools of other hosts are attached.
const Owner = "fleet"

// Fleet is a host's part in a fleet. It is the provider of the tools that other hosts share. What it does is in parts,
// whose methods are its own; each has a lock, and docs/architecture.md has their order.
type Fleet struct {
	*node
	*presence
	directory
	mounts
	routes
	inbound
	queue

	service micro.Service
	closing sync.Once
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
	changes := h.Changes()
	f.regather()
	err = f.listen(ctx)
	if err == nil {
		states := f.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
		f.background(func() {
			defer f.nc.RemoveStatusListener(states)
			f.followConnection(states)
		})
		f.background(func() { f.followHost(changes) })
		f.background(f.announce)
		f.meet(ctx)
		err = cannotJoin(f.denied()) // to announce it, or to ask who is there
		f.toBeListed()
	}
	if err == nil {
		f.background(f.queue.follow)     // what the server says to it replaces what denied looks at
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
	n, err := newNode(h, c)
	if err != nil {
		return nil, err
	}
	p := &presence{node: n, announces: newSignal(), toldAll: time.Now()}
	p.catalogue.Store(&catalogue{revision: 1})
	f := &Fleet{node: n, presence: p}
	f.directory = directory{
		presence: p, mounts: &f.mounts, routes: &f.routes, inbound: &f.inbound,
		members: map[string]*member{}, departed: map[string]uint64{}, strangers: map[string]*stranger{},
		endings: map[string][]string{}, hears: map[string]*nats.Subscription{}, said: make(chan *nats.Msg, maxUnheard),
	}
	f.mounts = mounts{
		node: n, directory: &f.directory, changes: newSignal(), dialing: make(chan struct{}, dialsAtOnce), offers: map[string][]*offer{},
		tools: map[string]*mounted{}, pools: map[string]*pool{}, stale: map[string]bool{}, defs: map[string]*definition{},
	}
	f.routes = routes{
		node: n, directory: &f.directory, mounts: &f.mounts, queue: &f.queue,
		homes: map[homeKey]*home{}, visited: map[string]map[string]bool{},
	}
	f.inbound = inbound{
		presence: p, directory: &f.directory, queue: &f.queue, view: f.view,
		byInstance: map[string]*callingHost{}, accounts: map[string]*account{},
	}
	f.queue = queue{presence: p, mounts: &f.mounts, openSoon: newSignal(), turn: make(chan struct{}, 1)}
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
	f.settings.Store(configure(c, old.epoch+1))
	if more, err := f.hearKnown(); err != nil {
		f.log.Warn("hosts that are named now are not heard", "error", err)
	} else if more {
		f.background(func() { f.meet(f.life) })
	}
	f.regather()
	f.announces.send()
	f.openSoon.send()
	f.restore()
	f.reconfigured()
	f.rebuildAll()
	return nil
}

// Leave says that the host leaves and takes no new calls, and waits until those of other hosts have
// ended.
//
// # Errors
//
// The context's end: there are still calls.
func (f *Fleet) Leave(ctx context.Context) error {
	f.drain(true)
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
		if data, err := f.announcement(); err == nil && f.nc.IsConnected() {
			_ = f.nc.Publish(helloSubject+f.settings.Load().Key.public, data)
			_ = f.nc.Publish(whoSubject, data) // by which strangers forget it
			goodbye, cancel := context.WithTimeout(ctx, leaveTime)
			f.bell.wait(goodbye, func() bool { return !f.hasLinks() || !f.nc.IsConnected() })
			cancel()
		}
		f.directory.close()
		all := f.inbound.close()
		f.bell.ring()
		f.end()
		for _, v := range all {
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
