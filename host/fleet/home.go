package fleet

import (
	"strconv"
	"sync"
	"time"
)

// homeKey names the state that a session has in a plugin of the fleet.
type homeKey struct{ session, plugin string }

// home is where that state is. It is by the ID of an instance, which may be out of reach for a while.
type home struct {
	id     string // empty: there is no state
	host   string // the name of the instance
	gone   bool   // it was out of reach for too long
	losses int    // how often the session was told that its state is lost
}

// routes has the calls of mounted tools, and where the sessions of this host have called.
type routes struct {
	*node
	directory *directory
	mounts    *mounts
	queue     *queue

	mu      sync.Mutex
	homes   map[homeKey]*home
	visited map[string]map[string]bool // the instances that a session has called, by session
}

const (
	// stateKeptFor is for how long without a line the state of a session counts as kept: half of what
	// its host keeps it for, as that may have missed this host earlier.
	stateKeptFor = keptFor / 2
	// maxEndings bounds the sessions of whose end a host out of reach is told later, which has no more.
	maxEndings = maxSessions
)

// homeOf returns the host that has the state of a session; nil: it is gone. The lock is held, and the directory's.
func (s *routes) homeOf(b *home) *member {
	m := s.directory.members[b.id]
	if m == nil || b.gone || !m.lost.IsZero() && time.Since(m.lost) > stateKeptFor {
		return nil
	}
	return m
}

// setHome remembers where the state of a session is from now on. The lock is held.
func (s *routes) setHome(key homeKey, m *member) {
	b := s.homes[key]
	if b == nil {
		b = new(home)
		s.homes[key] = b
	}
	b.id, b.host, b.gone = m.id, m.host, false
}

// leaveHome lets the session go elsewhere, as its first call was refused.
func (r *remoteCall) leaveHome() {
	s := r.routes
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.homes {
		if r.home != nil && key.session == r.call.Session && b.id == r.home.id {
			b.id = ""
		}
	}
	r.home = nil
}

// sessionAt returns the name of the call's session at a host: another one after each loss of state, so
// that what was said to be lost is not there again when its host is.
func (r *remoteCall) sessionAt(o *offer) string {
	if !o.Keeps {
		return r.call.Session
	}
	s := r.routes
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.homes[homeKey{r.call.Session, o.Plugin}]; b != nil {
		return b.session(r.call.Session, b.losses)
	}
	return r.call.Session
}

func (*home) session(name string, losses int) string {
	if losses == 0 {
		return name
	}
	return name + "+" + strconv.Itoa(losses)
}

// remember notes that a session has called a host, which is told of its end. The lock is held.
func (s *routes) remember(session string, m *member) {
	visited := s.visited[session]
	if visited == nil {
		visited = map[string]bool{}
		s.visited[session] = visited
	}
	visited[m.id] = true
}

// EndSession implements [tool.SessionEnder]: the hosts that the session has called are told, those that
// are out of reach when they are there again.
func (s *routes) EndSession(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := []string{session}
	for key, b := range s.homes {
		if key.session == session {
			for n := range b.losses {
				ended = append(ended, b.session(session, n+1))
			}
			delete(s.homes, key)
		}
	}
	d := s.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range s.visited[session] {
		d.endings[id] = append(d.endings[id], ended...)
		d.endings[id] = d.endings[id][max(0, len(d.endings[id])-maxEndings):]
		if m := d.members[id]; m != nil {
			m.tellEnds()
		}
	}
	delete(s.visited, session)
}

// missed gives up, each after a while, the states at an instance that is gone, and the visits to it, unless it has come
// back.
func (s *routes) missed(id string) {
	s.unlessBack(id, stateKeptFor, func() {
		for _, b := range s.homes {
			b.gone = b.gone || b.id == id
		}
	})
	s.unlessBack(id, keptFor, func() { // it keeps nothing any more
		delete(s.directory.endings, id)
		for _, visited := range s.visited {
			delete(visited, id)
		}
	})
}

// unlessBack does something after a while, unless an instance that is gone has come back. It is done with
// the lock held, and the directory's.
func (s *routes) unlessBack(id string, after time.Duration, do func()) {
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.directory.mu.Lock()
		defer s.directory.mu.Unlock()
		if s.directory.members[id] == nil {
			do()
		}
	})
}
