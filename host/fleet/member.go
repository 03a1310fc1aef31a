package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// When a host is missed.
const (
	// probeTime bounds the wait for an answer.
	probeTime = 500 * time.Millisecond
	// goneAfter is for how long a host is asked in vain until it is gone, though a server still knows it, or none is
	// there to ask.
	goneAfter = 2 * time.Second
	// maxMembers bounds the hosts that are known at a time, and maxStarts those of them that have one key, unless it is
	// this host's own: no other can keep the rest out.
	maxMembers = 8192
	maxStarts  = 1024
	// maxDeparted bounds the hosts that are gone and remembered, so that what they have said has no effect when it is repeated.
	maxDeparted = maxMembers
	// maxStrangers bounds the hosts that are shown with the reason why they are not used.
	maxStrangers = 64
)

// member is a start of another host, as this one knows it.
type member struct {
	fleet *Fleet
	id    string
	host  string // what it calls itself, fit to be shown
	key   string
	// public is the instance's public key.
	public []byte
	life   context.Context // until it is gone
	end    context.CancelFunc

	calls     atomic.Int32  // of this host, in progress there
	left      atomic.Bool   // it has left, and takes no calls but answers those that it has
	latency   atomic.Int64  // a moving average, in nanoseconds
	compiling time.Duration // of what it shares, in the reading that is under way; its goroutine's own
	poke      chan struct{}
	synced    chan struct{} // closed when what it shares was read, or could not be, for the first time
	once      sync.Once

	// The fields below are guarded by the fleet's lock.
	peer    string // its name in the configuration
	said    *announcement
	heard   time.Time
	asked   time.Time // in vain since then; zero: it has answered
	skew    time.Duration
	late    bool
	refused string // why it is not used
	unread  string // why what it shares could not be read; empty: it was
	timer   *time.Timer
	offers  map[string]*offer // what it shares, by name here
	have    uint64            // the revision of offers; 0: none
	line    *line             // to it; nil: there is none
	dialing chan struct{}     // closed when the attempt to make one has ended
	lost    time.Time         // when the last line was; zero: there is one, or was none
}

// usable reports whether calls may go to the host, and takes says that it has not said that it
// wants no new ones. The fleet's lock is held.
func (m *member) usable() bool { return m.refused == "" && !m.said.Leaving }
func (m *member) takes() bool  { return m.usable() && !m.said.Draining }

// hurry has a host that has calls of this one asked as soon as in a small fleet, if it announces itself less often. The
// fleet's lock is held.
func (m *member) hurry() {
	if m.said.every() > interval {
		m.timer.Reset(max(silence(interval)-time.Since(m.heard), 0))
	}
}

// release counts calls that have ended. The last one of a host that has left closes the line, for
// which the host waits.
func (m *member) release(ended int32) {
	if m.calls.Add(-ended) == 0 && m.left.Load() {
		go m.line.stream.Close() //nolint:errcheck // it always closes
	}
}

// wake has the member's goroutine look at what the host shares.
func (m *member) wake() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

func (m *member) ready() { m.once.Do(func() { close(m.synced) }) }

// hear takes an announcement that anybody may have sent. It returns its instance, if it is of a
// known host.
func (f *Fleet) hear(data []byte) *member {
	a, err := parseAnnouncement(data)
	if err != nil {
		f.strange.Add(1)
		return nil
	}
	id := a.id()
	if id == f.self.ID() {
		return nil
	}
	peer, _, known := f.settings.Load().peerOf(a.Key)
	f.mu.Lock()
	m := f.members[id]
	stale := f.repeated(m, a)
	full := m == nil && f.full(a.Key)
	f.mu.Unlock()
	switch {
	case stale: // repeated, by whomever
		return nil
	case !known:
		f.stranger(a, data)
		return nil
	case full || !a.signed(data):
		f.strange.Add(1)
		return nil
	}
	return f.update(id, peer, a)
}

// repeated reports whether a start of a host, which is m unless it is not known or gone, has said something
// before, or something later. The lock is held.
func (f *Fleet) repeated(m *member, a *announcement) bool {
	if m != nil {
		return a.Seq <= m.said.Seq
	}
	last, gone := f.departed[a.id()]
	return gone && a.Seq <= last
}

// full reports whether no further start of a host with the key can be known. The lock is held.
func (f *Fleet) full(key string) bool {
	if len(f.members) < maxStarts || key == f.settings.Load().Key.public {
		return len(f.members) >= maxMembers
	}
	starts := 0
	for _, m := range f.members {
		if m.key == key {
			starts++
		}
	}
	return len(f.members) >= maxMembers || starts >= maxStarts
}

// update takes what a known host has said.
func (f *Fleet) update(id, peer string, a *announcement) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[id]
	if f.closed || f.repeated(m, a) || m != nil && a.Key != m.key {
		return m
	}
	isNew := m == nil
	if isNew {
		if a.Leaving {
			return nil
		}
		m = &member{
			fleet: f, id: id, host: a.cleanName(), key: a.Key, public: a.Instance, said: a,
			poke: make(chan struct{}, 1), synced: make(chan struct{}),
		}
		m.life, m.end = context.WithCancel(f.life)
		f.members[id] = m
		f.known.Store(int32(len(f.members))) //nolint:gosec // at most maxMembers
		m.timer = time.AfterFunc(silence(a.every()), func() { f.probe(m) })
		f.log.Info("a host has joined the fleet", "host", m.host, "instance", id, "version", a.Version)
	}
	before := m.said
	m.peer, m.said, m.heard, m.asked, m.skew, m.refused = peer, a, time.Now(), time.Time{}, a.Time.Sub(f.now()), a.foreign()
	if m.late {
		m.late = false
		f.log.Info("a host of the fleet is heard of again", "host", m.host)
	}
	if a.Leaving {
		l := m.line
		m.line = nil
		f.remove(m, "it has left")
		if m.line = l; l != nil {
			m.left.Store(true)
			m.release(0)
		}
		return nil
	}
	m.timer.Reset(silence(a.every()))
	if m.calls.Load() > 0 {
		m.hurry()
	}
	if m.line != nil {
		m.line.listen(f.denied())
	}
	if isNew {
		if m.refused != "" {
			f.log.Warn("a host of the fleet is not used", "host", m.host, "why", m.refused)
		}
		f.background(m.follow)
	}
	if isNew || before.Revision != a.Revision {
		m.wake()
	}
	if before.Draining != a.Draining {
		f.refit(m)
	}
	f.signal()
	return m
}

// stranger keeps what a host says that is not known, to be shown. Few are checked in a second.
func (f *Fleet) stranger(a *announcement, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.strange.Add(1)
	now := time.Now()
	if now.Sub(f.strangersSince) > time.Second {
		f.strangersSince, f.strangersChecked = now, 0
	}
	if _, there := f.strangers[a.id()]; !there && len(f.strangers) >= maxStrangers {
		for id, s := range f.strangers {
			if now.Sub(s.heard) > 2*s.said.every() {
				delete(f.strangers, id)
			}
		}
		if len(f.strangers) >= maxStrangers {
			return
		}
	}
	if f.strangersChecked++; f.strangersChecked > 2*maxStrangers || !a.signed(data) {
		return
	}
	if a.Leaving {
		delete(f.strangers, a.id())
		return
	}
	if _, there := f.strangers[a.id()]; !there {
		f.log.Info("a host is not known here, and not used", "host", a.cleanName(), "key", a.Key)
	}
	f.strangers[a.id()] = &stranger{a, now}
}

type stranger struct {
	said  *announcement
	heard time.Time
}

// probe asks a host that was silent whether it is there.
func (f *Fleet) probe(m *member) {
	ctx, cancel := context.WithTimeout(m.life, probeTime)
	defer cancel()
	begin := time.Now()
	f.mu.Lock()
	if m.asked.IsZero() {
		m.asked = begin
	}
	f.mu.Unlock()
	msg, err := f.nc.RequestWithContext(ctx, instanceSubject+m.id+".ping", nil)
	if err == nil {
		if f.hear(msg.Data) == m {
			return
		}
		err = errMalformed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.members[m.id] != m || m.heard.After(begin): // it was heard of meanwhile
	case errors.Is(err, nats.ErrNoResponders):
		f.remove(m, "it has lost its connection")
	case time.Since(m.asked) > goneAfter:
		f.remove(m, fmt.Sprintf("nothing was heard of it for %v", time.Since(m.heard).Round(time.Millisecond)))
	default:
		if !m.late && f.nc.IsConnected() {
			m.late = true
			f.log.Warn("a host of the fleet does not answer", "host", m.host)
		}
		// It may have taken the whole time, or none if this host has no connection.
		m.timer.Reset(max(probeTime-time.Since(begin), probeTime/4))
	}
}

// remove forgets a host that is gone. The fleet's lock is held.
func (f *Fleet) remove(m *member, why string) {
	if f.members[m.id] != m {
		return
	}
	delete(f.members, m.id)
	if len(f.departed) >= maxDeparted {
		for id := range f.departed { // any one
			delete(f.departed, id)
			break
		}
	}
	f.departed[m.id] = m.said.Seq
	f.known.Store(int32(len(f.members))) //nolint:gosec // at most maxMembers
	m.timer.Stop()
	m.end()
	m.ready()
	if m.line != nil {
		m.line.fail(fmt.Errorf("host %s is gone: %s", m.host, why))
		m.line = nil
	}
	f.unlessBack(m.id, stateKeptFor, func() { f.loseBonds(m.id) })
	f.unlessBack(m.id, keptFor, func() { f.forgetVisits(m.id) })
	f.withdraw(m)
	f.dismiss(m.id)
	f.signal()
	f.log.Info("a host has left the fleet", "host", m.host, "instance", m.id, "why", why)
}

// signal wakes whoever waits for a change of the hosts or of the connection. The fleet's lock is held.
func (f *Fleet) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}
