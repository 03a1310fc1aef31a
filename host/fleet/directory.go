package fleet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
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
)

// directory is who is there.
type directory struct {
	known atomic.Int32 // how many members there are

	mu               sync.Mutex // guards what is known of each member, too
	closed           bool
	lostBy           string // the error with which this host's connection was lost, until there is another one
	members          map[string]*member
	departed         map[string]uint64 // the last numbers that hosts which are gone have said, at most maxDeparted
	strangers        map[string]*stranger
	strangersSince   time.Time
	strangersChecked int
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
func (d *directory) stranger(a *announcement, data []byte, log hclog.Logger) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Sub(d.strangersSince) > time.Second {
		d.strangersSince, d.strangersChecked = now, 0
	}
	if _, there := d.strangers[a.id()]; !there && len(d.strangers) >= maxStrangers {
		for id, s := range d.strangers {
			if now.Sub(s.heard) > 2*s.said.every() {
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
		log.Info("a host is not known here, and not used", "host", a.cleanName(), "key", a.Key)
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

// severalOwners reports whether hosts have different keys.
func severalOwners(all []*member) bool {
	return slices.ContainsFunc(all, func(m *member) bool { return m.key != all[0].key })
}

// drop forgets a host, and returns false if it was not there. The lock is held.
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
	d.known.Store(int32(len(d.members))) //nolint:gosec // at most maxMembers
	m.ready()
	m.leave(fmt.Errorf("host %s is gone: %s", m.host, why))
	return true
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

// all returns the hosts that are there.
func (d *directory) all() []*member {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.members))
}
