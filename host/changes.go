package host

import (
	"bytes"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	_ tool.Notifier = (*Host)(nil)
	_ tool.Notifier = (*Session)(nil)
)

// Changes implements [tool.Notifier]: the channel receives a value when the tools of the
// host have changed, and is closed when the host is. Each call returns a channel of its own,
// which lives as long as the host.
func (h *Host) Changes() <-chan struct{} { return h.registry.subscribe() }

// Changes is [Host.Changes] until the session is closed. A change of which the session sees
// nothing is reported too.
func (s *Session) Changes() <-chan struct{} {
	return s.notices.subscribe()
}

// subscriptions are those of a session.
type subscriptions struct {
	registry *registry
	mu       sync.Mutex
	all      []chan struct{}
	ended    bool
}

func (s *subscriptions) subscribe() <-chan struct{} {
	c := s.registry.subscribe()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
	if s.ended {
		s.registry.unsubscribe(s.all)
	}
	return c
}

// end closes the channels of all subscriptions, of now and later.
func (s *subscriptions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.registry.unsubscribe(s.all)
}

// subscribe returns a channel that receives a value after each change of the tools.
func (r *registry) subscribe() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{}, 1)
	if r.closed {
		close(c)
		return c
	}
	if r.subscribers == nil {
		r.subscribers = map[chan struct{}]bool{}
	}
	r.subscribers[c] = true
	return c
}

// unsubscribe closes the channels of subscribers, unless they are closed already.
func (r *registry) unsubscribe(all []chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range all {
		if r.subscribers[c] {
			delete(r.subscribers, c)
			close(c)
		}
	}
}

// close closes the channels of all subscribers, of now and later.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for c := range r.subscribers {
		close(c)
	}
	r.subscribers = nil
}

// announce tells the hooks and the subscribers that tools of some names have changed. The lock is held.
func (r *registry) announce(before, after *snapshot, names []string) {
	if len(r.subscribers) == 0 && r.events == nil {
		return
	}
	added, removed, changed := difference(before, after, names)
	if len(added)+len(removed)+len(changed) == 0 {
		return
	}
	r.events.toolsChanged(added, removed, changed)
	for c := range r.subscribers {
		select {
		case c <- struct{}{}:
		default: // one is there that has not been received
		}
	}
}

// difference returns which of the names are those of tools that are listed in one of two snapshots
// only, and of those that are defined otherwise, all sorted.
func difference(before, after *snapshot, names []string) (added, removed, changed []string) {
	for _, name := range distinct(names) {
		switch was, is := before.listedAs(name), after.listedAs(name); {
		case was == nil && is == nil:
		case was == nil:
			added = append(added, name)
		case is == nil:
			removed = append(removed, name)
		case !is.definedAs(was):
			changed = append(changed, name)
		}
	}
	return added, removed, changed
}

// sameDefinition reports whether two definitions are equal. A plugin with ten thousand tools lists all of them when one has
// changed, and reflect takes twenty times as long to compare them.
func sameDefinition(a, b *tool.Definition) bool {
	return a == b || a.Name == b.Name && a.Alias == b.Alias && a.Title == b.Title && a.Description == b.Description &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema) &&
		a.Safety == b.Safety && slices.Equal(a.Categories, b.Categories) && a.Permission == b.Permission &&
		a.Idempotent == b.Idempotent && a.MaxRetries == b.MaxRetries && a.Timeout == b.Timeout &&
		(a.RateLimit == b.RateLimit || a.RateLimit != nil && b.RateLimit != nil && *a.RateLimit == *b.RateLimit) &&
		slices.Equal(a.Sensitive, b.Sensitive) && bytes.Equal(a.Icons, b.Icons) && bytes.Equal(a.Meta, b.Meta)
}

// definedAs reports whether two entries of one name are defined alike. What the owner said
// is compared, as schemas change when they are compiled.
func (e *entry) definedAs(other *entry) bool {
	return e == other || e.alias == other.alias && e.owner == other.owner && e.def.Timeout == other.def.Timeout &&
		e.override.equal(other.override) && sameDefinition(e.source, other.source)
}
