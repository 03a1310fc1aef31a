package plugin

import "context"

// HandOver passes this plugin's calls on to another, as when its binary was replaced.
// New calls go to the other plugin, which has to be ready by then, so that none fails.
// Calls under way may end first, bounded by ctx alone, and then this plugin is closed.
// A call that was prepared by this plugin's definition of a tool runs in the other
// only if the two definitions are the same; see [ErrChanged].
//
// # Errors
//
// Those of [Plugin.Close].
func (p *Plugin) HandOver(ctx context.Context, to *Plugin) error {
	p.next.Store(to)
	return p.close(ctx, ctx)
}
