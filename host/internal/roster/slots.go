package roster

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// startSlots has room for the plugins that are looked at and started side by side: starting costs CPU more than waiting.
type startSlots chan struct{}

func newStartSlots() startSlots { return make(startSlots, max(4, 2*runtime.NumCPU())) }

// slotTime is how long a start has a slot: one that takes longer waits for something, such as a download, and
// keeps no others from starting.
const slotTime = time.Second

// take waits for a slot.
func (s startSlots) take(ctx context.Context, owner string) (release func(), err error) {
	select {
	case s <- struct{}{}:
		free := sync.OnceFunc(func() { <-s })
		late := time.AfterFunc(slotTime, free)
		return func() { late.Stop(); free() }, nil
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
