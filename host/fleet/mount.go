package fleet

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/internal/durable"
)

// offer is a tool that a host shares and this one mounts. It never changes.
type offer struct {
	shared

	member *member
	def    *definition
}

// definition is one that offers have. Hosts with the same one share it.
type definition struct {
	*checked.Definition

	shape shape // see shapeOf
	size  int   // of its JSON, in bytes
	// The fields below are guarded by the lock of mounts.
	uses   int       // offers
	unused time.Time // since when there are none
}

const (
	// keptUnused is how long a definition is kept that no host offers any more: hosts that are back, as after the restart of
	// a server, have the same ones.
	keptUnused = time.Minute
	// maxUnused bounds what is kept so, in bytes of JSON.
	maxUnused = maxShareBytes
)

// mounted is a tool by its name here. It never changes.
type mounted struct {
	name     string
	versions []*version          // the one that is used first
	def      *checked.Definition // of that one, by the name here: the registry has it
	durable  durable.Mode
}

// version is the definitions of a name that differ only in texts, and the hosts that share them.
type version struct {
	digest string
	def    *definition // of the newest of its hosts
	newest string      // that one's version of the plugin
	offers []*offer    // sorted by the names of hosts
	takes  int         // how many of them take calls, and have the labels of the rule
	reason string      // why it is not used; empty: it is, or is not the first
}

// mounts is what other hosts share that this one mounts: it provides it to the registry.
type mounts struct {
	*node
	directory *directory
	changes   signal

	compiling sync.Mutex    // held while a schema is compiled
	dialing   chan struct{} // has a token for each line that is made to read from it

	mu         sync.Mutex
	closed     bool
	offers     map[string][]*offer    // by the name here, sorted by host
	tools      map[string]*mounted    // see mountedAs
	pools      map[string]*pool       // of those of tools that were called
	stale      map[string]bool        // names that tools has as they were
	defs       map[string]*definition // by digest, also those that were used a moment ago
	unused     int                    // bytes of those
	sweeping   bool                   // they will be looked through
	shadowed   map[string]bool        // mounted tools whose name the host itself uses
	telling    bool                   // the registry is about to be told of a change
	unnotified bool                   // there is one that the registry has not been told
}

// gatherTime is how long changes are collected before they are told.
const gatherTime = 100 * time.Millisecond

// take replaces the offers of a host, which are by the names that they have here.
func (s *mounts) take(m *member, offers map[string]*offer, have reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.life.Err() != nil { // they are withdrawn, or about to be
		return
	}
	before := m.offers
	for _, o := range offers {
		if d := s.defs[o.Digest]; d == nil {
			s.defs[o.Digest] = o.def
		} else if o.def = d; d.uses == 0 {
			s.unused -= d.size
		}
		o.def.uses++
	}
	m.offers, m.have = offers, have
	for name, o := range before {
		s.forget(name, o)
		if offers[name] == nil {
			s.fit(name)
		}
	}
	for name, o := range offers {
		i, _ := slices.BinarySearchFunc(s.offers[name], o, byHost)
		s.offers[name] = slices.Insert(s.offers[name], i, o)
		s.fit(name)
	}
}

func byHost(a, b *offer) int {
	return cmp.Or(cmp.Compare(a.member.host, b.member.host), cmp.Compare(a.member.id, b.member.id))
}

// forget removes an offer. The lock is held.
func (s *mounts) forget(name string, o *offer) {
	if o.def.uses--; o.def.uses == 0 {
		s.retire(o.Digest, o.def)
	}
	i, _ := slices.BinarySearchFunc(s.offers[name], o, byHost)
	if n := slices.Index(s.offers[name][i:], o); n >= 0 { // a host that is back may have another
		s.offers[name] = slices.Delete(s.offers[name], i+n, i+n+1)
	}
	if len(s.offers[name]) == 0 {
		delete(s.offers, name)
	}
}

// retire keeps a definition for a while that no host offers any more. The lock is held.
func (s *mounts) retire(digest string, d *definition) {
	if s.unused+d.size > maxUnused {
		delete(s.defs, digest)
		return
	}
	s.unused += d.size
	d.unused = time.Now()
	if !s.sweeping {
		s.sweeping = true
		time.AfterFunc(keptUnused, s.sweep)
	}
}

// sweep forgets the definitions that were not used for a while.
func (s *mounts) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, d := range s.defs {
		if d.uses == 0 && time.Since(d.unused) >= keptUnused {
			delete(s.defs, digest)
			s.unused -= d.size
		}
	}
	if s.sweeping = s.unused > 0 && !s.closed; s.sweeping {
		time.AfterFunc(keptUnused, s.sweep)
	}
}

// withdraw removes the offers of a host that is gone.
func (s *mounts) withdraw(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := m.offers
	m.offers = nil
	for name, o := range before {
		s.forget(name, o)
		s.fit(name)
	}
}

// rebuild makes the tools of a host again, as which of their versions is used may depend on it.
func (s *mounts) rebuild(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range m.offers {
		s.fit(name)
	}
}

// rebuildAll makes all tools again, for other rules.
func (s *mounts) rebuildAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.offers {
		s.fit(name)
	}
}

// fit has what is mounted under a name made again: before it is used, and for many changes once. The lock is
// held.
func (s *mounts) fit(name string) {
	s.stale[name] = true
	s.notifySoon()
}

// tool returns what is mounted under a name; nil: nothing.
func (s *mounts) tool(name string) *mounted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mountedAs(name)
}

// called is tool for a call, with what is known of its calls.
func (s *mounts) called(name string) (*mounted, *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mountedAs(name)
	p := s.pools[name]
	if t != nil && p == nil {
		p = &pool{name: name}
		s.pools[name] = p
		s.renew(p, t)
	}
	return t, p
}

// renew tells a pool what is mounted. The lock is held.
func (s *mounts) renew(p *pool, t *mounted) {
	c := s.settings.Load()
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	p.renew(t, c.ruleOf(p.name), c.Labels)
}

// mountedAs returns what is mounted under a name; nil: nothing. The lock is held.
func (s *mounts) mountedAs(name string) *mounted {
	if s.stale[name] {
		before, now := s.tools[name], s.build(name)
		p := s.pools[name]
		if now == nil {
			delete(s.tools, name)
			delete(s.pools, name)
		} else {
			s.tools[name] = now
		}
		switch {
		case p == nil:
		case now == nil:
			p.close()
		default:
			s.renew(p, now)
		}
		s.unnotified = s.unnotified || before.listed() != now.listed()
		delete(s.stale, name)
	}
	return s.tools[name]
}

// fitAll makes again what has to be. It lets others have the lock in between.
func (s *mounts) fitAll() {
	const atOnce = 1000
	for left := true; left; {
		s.mu.Lock()
		n := 0
		for name := range s.stale {
			if n++; n > atOnce {
				break
			}
			s.mountedAs(name)
		}
		left = len(s.stale) > 0
		s.mu.Unlock()
	}
}

// listed tells what the registry has of a tool from what it had before; empty: it has nothing.
func (t *mounted) listed() string {
	if t == nil || t.versions[0].reason != "" {
		return ""
	}
	return t.versions[0].digest + string(t.durable)
}

// build returns what is mounted under a name; nil: nothing. The lock is held.
func (s *mounts) build(name string) *mounted {
	c := s.settings.Load()
	rule := c.ruleOf(name)
	byKind := map[kind]*version{}
	t := &mounted{name: name, durable: rule.Durable}
	for _, o := range s.offers[name] {
		k := rule.kindOf(o)
		v := byKind[k]
		if v == nil {
			v = &version{}
			byKind[k] = v
			t.versions = append(t.versions, v)
		}
		v.add(o)
	}
	if len(t.versions) == 0 {
		return nil
	}
	s.directory.mu.Lock()
	for _, v := range t.versions {
		v.count(rule)
	}
	s.directory.mu.Unlock()
	slices.SortFunc(t.versions, func(a, b *version) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), rule.prefer(a, b), cmp.Compare(a.digest, b.digest))
	})
	if used := t.versions[0]; used.reason == "" {
		for _, v := range t.versions[1:] {
			v.reason = cmp.Or(v.reason, rule.passedOver(v, used))
		}
	}
	t.def = t.versions[0].def.As(name)
	if t.durable != "" {
		t.def = t.def.Within(durable.DefaultTTL) // it waits for a host, too
	}
	if before := s.tools[name]; before != nil && before.versions[0].def == t.versions[0].def && before.durable == t.durable {
		t.def = before.def // by which the registry knows that nothing has changed
	}
	return t
}
