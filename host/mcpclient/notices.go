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

// tell calls f with all who have asked for notices.
func (u *Upstream) tell(f func(*mcpwire.Notices)) {
	u.mu.Lock()
	all := slices.Collect(maps.Keys(u.notices))
	u.mu.Unlock()
	for _, n := range all {
		f(n)
	}
}
