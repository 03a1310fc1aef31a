package roster

import (
	"context"
	"runtime"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// startsAtOnce is how many plugins are looked at and started side by side: starting
// costs CPU more than waiting.
func startsAtOnce() int { return max(4, 2*runtime.NumCPU()) }

// startSlot waits for one of the few slots in which plugins are looked at and started.
func (r *Roster) startSlot(ctx context.Context, owner string) (release func(), err error) {
	select {
	case r.starting <- struct{}{}:
		return func() { <-r.starting }, nil
	case <-ctx.Done():
		return nil, notStarted(ctx, owner)
	}
}

// notStarted is the error for a plugin that was waiting when the context ended.
func notStarted(ctx context.Context, owner string) error {
	return tool.Errorf(tool.CodeOf(ctx.Err()),
		"plugin %s was not started, as others were: %v", owner, deadline.Cause(ctx)).
		Of("", owner).At(callstage.Start).NeverSent().Because(ctx.Err())
}
