package fleet

// bondKey names the state that a session has in a plugin of the fleet.
type bondKey struct{ session, plugin string }

// stateKeptFor is for how long without a line the state of a session counts as kept: half of what
// its host keeps it for, as that may have missed this host earlier.
const stateKeptFor = keptFor / 2

// unbond lets the session go elsewhere, as its first call was refused.
func (r *remoteCall) unbond() {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, m := range f.bonds {
		if r.bonded != nil && key.session == r.call.Session && m == r.bonded {
			delete(f.bonds, key)
		}
	}
	r.bonded = nil
}

// visit remembers that a session has called a host, which is told of its end. The lock is held.
func (f *Fleet) visit(session string, m *member) {
	visited := f.visited[session]
	if visited == nil {
		visited = map[*member]bool{}
		f.visited[session] = visited
	}
	visited[m] = true
}

// EndSession implements [tool.SessionEnder]: the hosts that the session has called are told.
func (f *Fleet) EndSession(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for m := range f.visited[session] {
		if m.line != nil {
			m.line.stream.EndSession(session)
		}
	}
	delete(f.visited, session)
	for key := range f.bonds {
		if key.session == session {
			delete(f.bonds, key)
		}
	}
}
