package mcpbridge

import (
	"maps"
	"slices"
)

// Notices is what an [Upstream] tells those who serve its prompts and resources. The functions
// return at once. Nil: not wanted.
type Notices struct {
	PromptsChanged   func()
	ResourcesChanged func() // the templates too
	// ResourceUpdated says that a resource changed that is subscribed to.
	ResourceUpdated func(uri string)
}

// Notify has n called from now on, across connections. The function that it returns ends that.
func (u *Upstream) Notify(n Notices) (stop func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notices[&n] = struct{}{}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.notices, &n)
	}
}

func (u *Upstream) tell(which func(*Notices) func()) {
	u.mu.Lock()
	all := slices.Collect(maps.Keys(u.notices))
	u.mu.Unlock()
	for _, n := range all {
		if f := which(n); f != nil {
			f()
		}
	}
}

func (u *Upstream) updated(uri string) {
	u.tell(func(n *Notices) func() {
		if n.ResourceUpdated == nil {
			return nil
		}
		return func() { n.ResourceUpdated(uri) }
	})
}
