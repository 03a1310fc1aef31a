package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// restAfter is how long a line carries nothing until it is closed.
	restAfter = time.Minute
)

// member is a start of another host, as this one knows it.
type member struct {
	directory *directory
	id        string
	host      string // what it calls itself, fit to be shown
	key       string
	// public is the instance's public key.
	public []byte
	life   context.Context // until it is gone
	end    context.CancelFunc

	calls     atomic.Int32  // of this host, in progress there
	left      atomic.Bool   // it has left, and takes no calls but answers those that it has
	compiling time.Duration // of what it shares, in the reading that is under way; its goroutine's own
	synced    chan struct{} // closed when what it shares was read, or could not be, for the first time
	once      sync.Once

	// What was read of it, guarded by the lock of mounts.
	offers map[string]*offer // what it shares, by name here
	have   reading

	// The fields below are guarded by the directory's lock.
	peer    string // its name in the configuration
	removed bool   // its key is not known any more: the calls of both sides end, and none begin
	said    *announcement
	heard   time.Time
	asked   time.Time // in vain since then; zero: it has answered
	skew    time.Duration
	late    bool
	refused string // why it is not used
	unread  string // why what it shares could not be read; empty: it was
	denies  bool   // that is as it does not know this host
	timer   *time.Timer
	line    *line         // to it; nil: there is none
	rests   bool          // the line had nothing to carry and was closed: it is made again when there is something
	changed bool          // what it shares may have, or the line to it is lost
	reading bool          // a goroutine looks at that
	dialing chan struct{} // closed when the attempt to make one has ended
	lost    time.Time     // when the last line was; zero: there is one, or was none
}

// usable reports whether calls may go to the host, and takes says that it has not said that it
// wants no new ones. The directory's lock is held.
func (m *member) usable() bool { return m.refused == "" && !m.removed && !m.said.Leaving }
func (m *member) takes() bool  { return m.usable() && !m.said.Draining }

// askSoon has a host that has calls of this one asked as soon as in a small fleet, if it announces itself less often. The
// directory's lock is held.
func (m *member) askSoon() {
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

// linked reports whether the host has a line, or rests until there is something to be carried. The directory's lock is held.
func (m *member) linked() bool { return m.line != nil || m.rests }

// rest closes a line that has carried nothing for a while. What the other host keeps for sessions it goes on keeping.
// The directory's lock is held.
func (m *member) rest() {
	l := m.line
	if m.calls.Load() > 0 || l.calls.Load() > 0 || time.Since(l.used) < restAfter || time.Since(l.link.Heard()) < restAfter {
		return
	}
	m.line, m.rests = nil, true
	go l.stream.Close() //nolint:errcheck // it always closes
}

// wake has a host that rests count as one whose line was lost just now. The directory's lock is held.
func (m *member) wake() {
	if m.rests {
		m.rests, m.lost = false, time.Now()
	}
}

// readSoon has what the host shares read again. The directory's lock is held.
func (m *member) readSoon() {
	m.changed = true
	if d := m.directory; !m.reading && !d.closed && m.life.Err() == nil {
		m.reading = true
		d.background(func() { d.mounts.follow(m) })
	}
}

// unchanged reports whether nothing is to be read: the goroutine that asks ends then.
func (m *member) unchanged() bool {
	m.directory.mu.Lock()
	defer m.directory.mu.Unlock()
	m.reading, m.changed = m.changed && m.life.Err() == nil, false
	return !m.reading
}

func (m *member) ready() { m.once.Do(func() { close(m.synced) }) }

// leave ends what this host has of the other one. The directory's lock is held.
func (m *member) leave(why error) {
	m.timer.Stop()
	m.end()
	if m.line != nil {
		m.line.fail(why)
		m.line = nil
	}
}

// hear takes an announcement that anybody may have sent. It returns its instance, if it is of a
// known host.
func (d *directory) hear(data []byte) *member {
	a, err := parseAnnouncement(data)
	if err != nil {
		return nil
	}
	id := a.id()
	if id == d.self.ID() {
		return nil
	}
	c := d.settings.Load()
	p, known := c.known[a.Key]
	d.mu.Lock()
	m := d.members[id]
	stale := d.repeated(m, a)
	full := m == nil && d.full(a.Key, a.Key == c.Key.public)
	d.mu.Unlock()
	switch {
	case stale: // repeated, by whomever
		return nil
	case !known:
		d.stranger(a, data)
		return nil
	case full || !a.signed(data):
		return nil
	}
	return d.update(id, p.name, a)
}

// update takes what a known host has said.
func (d *directory) update(id, peer string, a *announcement) *member {
	d.mu.Lock()
	m := d.members[id]
	if d.closed || d.repeated(m, a) || m != nil && a.Key != m.key || m == nil && a.Leaving {
		d.mu.Unlock()
		return m
	}
	isNew := m == nil
	if isNew {
		m = &member{
			directory: d, id: id, host: a.cleanName(), key: a.Key, public: a.Instance, said: a,
			synced: make(chan struct{}),
		}
		m.life, m.end = context.WithCancel(d.life)
		d.members[id] = m
		d.others.Store(int32(len(d.members))) //nolint:gosec // at most maxMembers
		m.timer = time.AfterFunc(silence(a.every()), func() { d.probe(m) })
		d.log.Info("a host has joined the fleet", "host", m.host, "instance", id, "version", a.Version)
	}
	before := m.said
	m.peer, m.said, m.heard, m.asked, m.skew, m.refused = peer, a, time.Now(), time.Time{}, a.Time.Sub(d.now()), a.foreign()
	if m.late {
		m.late = false
		d.log.Info("a host of the fleet is heard of again", "host", m.host)
	}
	if a.Leaving {
		l := m.line
		m.line = nil
		d.drop(m, "it has left")
		if m.line = l; l != nil {
			m.left.Store(true)
			m.release(0)
		}
		d.mu.Unlock()
		d.gone(m)
		return nil
	}
	m.timer.Reset(silence(a.every()))
	if m.calls.Load() > 0 {
		m.askSoon()
	}
	if m.line != nil {
		m.line.listen(d.denied())
		m.rest()
	}
	if isNew && m.refused != "" {
		d.log.Warn("a host of the fleet is not used", "host", m.host, "why", m.refused)
	}
	if isNew || before.Revision != a.Revision {
		m.readSoon()
	}
	d.mu.Unlock()
	if before.Draining != a.Draining || !maps.Equal(before.Labels, a.Labels) {
		d.mounts.rebuild(m)
	}
	d.bell.ring()
	return m
}

// probe asks a host that was silent whether it is there.
func (d *directory) probe(m *member) {
	ctx, cancel := context.WithTimeout(m.life, probeTime)
	defer cancel()
	begin := time.Now()
	d.mu.Lock()
	removed := m.removed
	if m.asked.IsZero() {
		m.asked = begin
	}
	d.mu.Unlock()
	if removed { // what it says counts no more, and letGo drops it
		return
	}
	msg, err := d.nc.RequestWithContext(ctx, instanceSubject+m.id+".ping", nil)
	if err == nil {
		if d.hear(msg.Data) == m {
			return
		}
		err = errMalformed
	}
	d.mu.Lock()
	dropped := false
	switch {
	case m.heard.After(begin), m.removed: // it was heard of meanwhile, or letGo drops it
	case errors.Is(err, nats.ErrNoResponders):
		dropped = d.drop(m, "it has lost its connection")
	case time.Since(m.asked) > goneAfter:
		dropped = d.drop(m, fmt.Sprintf("nothing was heard of it for %v", time.Since(m.heard).Round(time.Millisecond)))
	case m.life.Err() != nil: // it is gone
	default:
		if !m.late && d.nc.IsConnected() {
			m.late = true
			d.log.Warn("a host of the fleet does not answer", "host", m.host)
		}
		// It may have taken the whole time, or none if this host has no connection.
		m.timer.Reset(max(probeTime-time.Since(begin), probeTime/4))
	}
	d.mu.Unlock()
	if dropped {
		d.gone(m)
	}
}
