package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// maxMembers bounds the hosts that are known at a time, and maxStarts those of them that have one key, unless it is
	// this host's own: no other can keep the rest out.
	maxMembers = 8192
	maxStarts  = 1024
	// maxDeparted bounds the hosts that are gone and remembered, so that what they have said has no effect when it is repeated.
	maxDeparted = maxMembers
	// maxStrangers bounds the hosts that are shown with the reason why they are not used.
	maxStrangers = 64
	// strangerFor is how long a stranger is shown after its last word.
	strangerFor = 2 * toStrangersEvery
	// maxUnheard bounds the announcements that wait to be heard. A host that is not heard is asked.
	maxUnheard = 2048
)

// directory is who is there. It hears of a host first, and tells the parts that have something of it.
type directory struct {
	*presence
	mounts  *mounts
	routes  *routes
	inbound *inbound

	mu               sync.Mutex // guards what is known of each member, too
	closed           bool
	members          map[string]*member
	departed         map[string]uint64   // the last numbers that hosts which are gone have said, at most maxDeparted
	endings          map[string][]string // sessions here that have ended, by the instance that is to be told
	strangers        map[string]*stranger
	strangersSince   time.Time
	strangersChecked int
	hears            map[string]*nats.Subscription // to announcements, by key
	said             chan *nats.Msg                // by the hosts that have one of the keys
}

// hearKnown has announcements of the hosts come that this one names, and of no others. It reports whether there are more.
func (d *directory) hearKnown() (more bool, err error) {
	known := d.settings.Load().known
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, sub := range d.hears {
		if _, still := known[key]; !still {
			_ = sub.Unsubscribe() // fails only if the connection is closed
			delete(d.hears, key)
		}
	}
	for key := range known {
		if d.hears[key] == nil {
			if d.hears[key], err = d.nc.ChanSubscribe(helloSubject+key, d.said); err != nil {
				delete(d.hears, key)
				return more, err
			}
			more = true
		}
	}
	return more, nil
}

// hearAll hears announcements until the host has left.
func (d *directory) hearAll() {
	for {
		select {
		case msg := <-d.said:
			d.hear(msg.Data)
		case <-d.life.Done():
			return
		}
	}
}

type stranger struct {
	said  *announcement
	heard time.Time
}

// repeated reports whether a start of a host, which is m unless it is not known or gone, has said something
// before, or something later. The lock is held.
func (d *directory) repeated(m *member, a *announcement) bool {
	if m != nil {
		return a.Seq <= m.said.Seq
	}
	last, gone := d.departed[a.id()]
	return gone && a.Seq <= last
}

// full reports whether no further start of a host with the key, which may be the own one, can be known. The lock is held.
func (d *directory) full(key string, own bool) bool {
	if len(d.members) < maxStarts || own {
		return len(d.members) >= maxMembers
	}
	starts := 0
	for _, m := range d.members {
		if m.key == key {
			starts++
		}
	}
	return len(d.members) >= maxMembers || starts >= maxStarts
}

// stranger keeps what a host says that is not known, to be shown. Few are checked in a second.
func (d *directory) stranger(a *announcement, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Sub(d.strangersSince) > time.Second {
		d.strangersSince, d.strangersChecked = now, 0
	}
	if _, there := d.strangers[a.id()]; !there && len(d.strangers) >= maxStrangers {
		for id, s := range d.strangers {
			if now.Sub(s.heard) > strangerFor {
				delete(d.strangers, id)
			}
		}
		if len(d.strangers) >= maxStrangers {
			return
		}
	}
	if d.strangersChecked++; d.strangersChecked > 2*maxStrangers || !a.signed(data) {
		return
	}
	if a.Leaving {
		delete(d.strangers, a.id())
		return
	}
	if _, there := d.strangers[a.id()]; !there {
		d.log.Info("a host is not known here, and not used", "host", a.cleanName(), "key", a.Key)
	}
	d.strangers[a.id()] = &stranger{a, now}
}

// named returns the hosts that a name is that of. What this host calls them comes before what they
// call themselves, so that none passes for another. The lock is held.
func (d *directory) named(name string) []*member {
	var ours, theirs []*member
	for _, m := range d.members {
		switch name {
		case m.id, m.peer:
			ours = append(ours, m)
		case m.host:
			theirs = append(theirs, m)
		}
	}
	if len(ours) > 0 {
		return ours
	}
	return theirs
}

// one returns the host that a name is that of; nil: it is this one.
func (d *directory) one(name string) (*member, error) {
	if name == "" {
		return nil, nil
	}
	d.mu.Lock()
	found := d.named(name)
	d.mu.Unlock()
	self := name == d.settings.Load().Name || name == d.self.ID()
	switch {
	case self && len(found) == 0:
		return nil, nil
	case len(found) == 0:
		return nil, tool.Errorf(tool.CodeNotFound, "no host of the fleet is called %.70q", name).
			Fix(remedy.Hosts.String())
	case self || len(found) > 1:
		return nil, tool.Errorf(tool.CodeAlreadyExists, "several hosts of the fleet are called %s", name).
			Fix(remedy.Instance.String())
	}
	return found[0], nil
}

// severalOwners reports whether hosts have different keys, other than one that changes its own: that has one name, and both
// keys in one entry of nats.peers. The lock is held.
func severalOwners(all []*member) bool {
	return slices.ContainsFunc(all, func(m *member) bool {
		return m.key != all[0].key && (m.peer == "" || m.peer != all[0].peer || m.host != all[0].host)
	})
}

// drop forgets a host that is gone, and ends the links to and from it; gone does the rest. It returns false if the host
// was not there. The lock is held.
func (d *directory) drop(m *member, why string) bool {
	if d.members[m.id] != m {
		return false
	}
	delete(d.members, m.id)
	if len(d.departed) >= maxDeparted {
		for id := range d.departed { // any one
			delete(d.departed, id)
			break
		}
	}
	d.departed[m.id] = m.said.Seq
	d.others.Store(int32(len(d.members))) //nolint:gosec // at most maxMembers
	m.ready()
	m.leave(fmt.Errorf("host %s is gone: %s", m.host, why))
	d.inbound.dismiss(m.id)
	d.log.Info("a host has left the fleet", "host", m.host, "instance", m.id, "why", why)
	return true
}

// gone takes back what came with hosts that were dropped.
func (d *directory) gone(all ...*member) {
	for _, m := range all {
		d.routes.missed(m.id)
		d.mounts.withdraw(m)
	}
	d.bell.ring()
}

// reconfigured lets go of the hosts that are not known any more, and has the others read by the settings that are new.
func (d *directory) reconfigured() {
	c := d.settings.Load()
	d.mu.Lock()
	for _, m := range d.members {
		p, known := c.known[m.key]
		m.peer = p.name
		if !known && !m.removed {
			d.log.Info("a host is not known any more: calls of both sides end, and none begin", "host", m.host, "instance", m.id)
			m.timer.Stop() // what it says is a stranger's
			d.background(func() { d.letGo(m) })
		} else if known && m.removed {
			m.timer.Reset(silence(m.said.every()))
		}
		m.removed = !known
		m.readSoon()
	}
	maps.DeleteFunc(d.strangers, func(_ string, s *stranger) bool {
		_, known := c.known[s.said.Key]
		return known
	})
	d.mu.Unlock()
}

// removedTime bounds how long the calls of a host may take that is not known any more, and those of this one there.
const removedTime = time.Minute

// letGo drops a host that was removed, unless it is known again, when the calls of both sides have ended, or after a while.
func (d *directory) letGo(m *member) {
	ctx, cancel := context.WithTimeout(m.life, removedTime)
	defer cancel()
	for m.calls.Load() > 0 || d.inbound.callsOf(m.key) > 0 {
		if !pause(ctx, probeTime/10) {
			break
		}
	}
	d.mu.Lock()
	removed := m.removed && d.drop(m, "its key is not known any more")
	d.mu.Unlock()
	if removed {
		d.gone(m)
	}
}

// disconnected ends the lines that went over the connection, and not those on the next one: there may be one already.
// What others share stays for a moment, as a server may only be restarted.
func (d *directory) disconnected() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	why := "the server has closed it"
	if err := d.nc.LastError(); err != nil {
		why = withoutUsers(err.Error())
	}
	if d.lostBy.Swap(why) != why { // each attempt to connect ends here
		d.log.Warn("the connection to the NATS server is lost", "error", why)
	}
	var lines []*line
	for _, m := range d.members {
		if m.line != nil && d.lostSince(m.line.reconnects) {
			lines = append(lines, m.line)
			m.line, m.lost = nil, time.Now() // before one fails: its call would go to the next
		}
		m.wake()
	}
	for _, l := range lines {
		l.fail(errConnection)
	}
}

// close ends the lines to all hosts.
func (d *directory) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, m := range d.members {
		m.leave(errors.New("this host leaves the fleet"))
	}
}

// present returns the hosts that are there.
func (d *directory) present() []*member {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.members))
}
