package mcpclient

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// Notify implements [mcpwire.Source].
func (u source) Notify(n mcpwire.Notices) (stop func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notices[&n] = struct{}{}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.notices, &n)
	}
}

func (u *Upstream) tell(which func(*mcpwire.Notices) func()) {
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
	u.tell(func(n *mcpwire.Notices) func() {
		if n.ResourceUpdated == nil {
			return nil
		}
		return func() { n.ResourceUpdated(uri) }
	})
}
