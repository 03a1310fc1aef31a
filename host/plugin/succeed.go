package plugin

import "context"

// Succeed hands over to another plugin, as when a binary was exchanged: calls that
// come here from now on go there, those under way may end first, within ctx and with
// no other bound, and then this one is closed. No call fails by it: the next one has to
// be ready before. What was decided by this plugin's definitions is run there only
// where the definition of the tool is the same, see [ErrChanged].
//
// # Errors
//
// Those of Close.
func (p *Plugin) Succeed(ctx context.Context, next *Plugin) error {
	p.next.Store(next)
	return p.close(ctx, ctx)
}
