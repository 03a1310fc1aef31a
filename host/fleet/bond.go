package fleet

import (
	"strconv"
	"time"
)

// bondKey names the state that a session has in a plugin of the fleet.
type bondKey struct{ session, plugin string }

// bond is where that state is. It is by the ID of an instance, which may be out of reach for a while.
type bond struct {
	id     string // empty: there is no state
	host   string // the name of the instance
	gone   bool   // it was out of reach for too long
	losses int    // how often the session was told that its state is lost
}

const (
	// stateKeptFor is for how long without a line the state of a session counts as kept: half of what
	// its host keeps it for, as that may have missed this host earlier.
	stateKeptFor = keptFor / 2
	// maxEndings bounds the sessions of whose end a host out of reach is told later, which has no more.
	maxEndings = maxSessions
)

// bonded returns the host that has the state of a session; nil: it is gone. The lock is held.
func (f *Fleet) bonded(b *bond) *member {
	m := f.members[b.id]
	if m == nil || b.gone || !m.lost.IsZero() && time.Since(m.lost) > stateKeptFor {
		return nil
	}
	return m
}

// bind remembers where the state of a session is from now on. The lock is held.
func (f *Fleet) bind(key bondKey, m *member) {
	b := f.bonds[key]
	if b == nil {
		b = new(bond)
		f.bonds[key] = b
	}
	b.id, b.host, b.gone = m.id, m.host, false
}

// unbond lets the session go elsewhere, as its first call was refused.
func (r *remoteCall) unbond() {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, b := range f.bonds {
		if r.bonded != nil && key.session == r.call.Session && b.id == r.bonded.id {
			b.id = ""
		}
	}
	r.bonded = nil
}

// sessionAt returns the name of the call's session at a host: another one after each loss of state, so
// that what was said to be lost is not there again when its host is.
func (r *remoteCall) sessionAt(o *offer) string {
	if !o.Keeps {
		return r.call.Session
	}
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.bonds[bondKey{r.call.Session, o.Plugin}]; b != nil {
		return b.session(r.call.Session, b.losses)
	}
	return r.call.Session
}

func (*bond) session(name string, losses int) string {
	if losses == 0 {
		return name
	}
	return name + "+" + strconv.Itoa(losses)
}

// visit remembers that a session has called a host, which is told of its end. The lock is held.
func (f *Fleet) visit(session string, m *member) {
	visited := f.visited[session]
	if visited == nil {
		visited = map[string]bool{}
		f.visited[session] = visited
	}
	visited[m.id] = true
}

// EndSession implements [tool.SessionEnder]: the hosts that the session has called are told, those that
// are out of reach when they are there again.
func (f *Fleet) EndSession(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := []string{session}
	for key, b := range f.bonds {
		if key.session == session {
			for n := range b.losses {
				ended = append(ended, b.session(session, n+1))
			}
			delete(f.bonds, key)
		}
	}
	for id := range f.visited[session] {
		f.endings[id] = append(f.endings[id], ended...)
		f.endings[id] = f.endings[id][max(0, len(f.endings[id])-maxEndings):]
		if m := f.members[id]; m != nil && m.line != nil {
			f.tellEnds(id, m.line)
		}
	}
	delete(f.visited, session)
}

// tellEnds tells an instance of the sessions that have ended. The lock is held.
func (f *Fleet) tellEnds(id string, l *line) {
	for _, session := range f.endings[id] {
		l.stream.EndSession(session)
	}
	delete(f.endings, id)
}

// unlessBack does something after a while, unless an instance that is gone has come back. It is done with
// the lock held.
func (f *Fleet) unlessBack(id string, after time.Duration, do func()) {
	time.AfterFunc(after, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.members[id] == nil {
			do()
		}
	})
}

// loseBonds gives up the states at an instance that has not come back. The lock is held.
func (f *Fleet) loseBonds(id string) {
	for _, b := range f.bonds {
		b.gone = b.gone || b.id == id
	}
}

// forgetVisits forgets the visits to an instance that has not come back: it keeps nothing any more. The
// lock is held.
func (f *Fleet) forgetVisits(id string) {
	delete(f.endings, id)
	for _, visited := range f.visited {
		delete(visited, id)
	}
}
