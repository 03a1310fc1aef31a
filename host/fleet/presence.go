package fleet

import (
	"cmp"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
)

// presence is what this host says of itself to others.
type presence struct {
	*node

	catalogue atomic.Pointer[catalogue]
	others    atomic.Int32 // hosts that are there
	seq       atomic.Uint64
	draining  atomic.Bool
	leaving   atomic.Bool
	serving   atomic.Int32 // calls of other hosts
	announces signal       // there is something new to say
	toldAll   time.Time    // when strangers were told; the announcing goroutine's own
}

// every returns how often this host announces itself.
func (p *presence) every() time.Duration {
	return everyOf(int(p.others.Load()))
}

// announcement returns a new one, signed.
func (p *presence) announcement() ([]byte, error) {
	c := p.settings.Load()
	a := announcement{
		Protocol: spoken, Name: c.Name, Key: c.Key.Public(), Instance: p.self.Public(), Seq: p.seq.Add(1),
		Version: cmp.Or(c.Version, host.Version), Labels: c.Labels, Draining: p.draining.Load(), Leaving: p.leaving.Load(),
		Revision: p.revision(), Load: p.load(), Every: p.every().Milliseconds(), Time: p.now(),
	}
	return a.sign(c.Key)
}

func (p *presence) load() load {
	l := load{Slots: p.settings.Load().maxCalls()}
	for _, plugin := range p.host.Plugins() {
		l.Running, l.Waiting = l.Running+plugin.Calls, l.Waiting+plugin.Waiting
	}
	l.Running = max(l.Running, int(p.serving.Load()))
	return l
}

// announce tells others of this host, at intervals and when something has changed. Whoever makes a
// connection has said hello.
func (p *presence) announce() {
	for ; ; p.sayHello() {
		every := p.every()
		select {
		case <-time.After(every + rand.N(every/spread)): //nolint:gosec // not a secret
		case <-p.announces:
			if !pause(p.life, 10*time.Millisecond) { // several changes are told at once
				return
			}
		case <-p.life.Done():
			return
		}
	}
}

// sayHello publishes an announcement, unless there is no connection: to those that name this host's key, and at
// times to all.
func (p *presence) sayHello() {
	data, err := p.announcement()
	if err != nil || !p.nc.IsConnected() {
		return
	}
	_ = p.nc.Publish(helloSubject+p.settings.Load().Key.public, data)
	if time.Since(p.toldAll) > toStrangersEvery {
		p.toldAll = time.Now()
		_ = p.nc.Publish(whoSubject, data)
	}
}

// serve counts a call of another host, until it is served.
func (p *presence) serve() (served func()) {
	p.serving.Add(1)
	return func() {
		if p.serving.Add(-1) == 0 && p.draining.Load() {
			p.bell.ring()
		}
	}
}
