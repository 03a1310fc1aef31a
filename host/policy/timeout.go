package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Timeout bounds one attempt; 0 leaves the step out. The caller's own deadline,
// where it is earlier, stays.
func Timeout(d time.Duration) tool.Middleware {
	if d <= 0 {
		return nil
	}
	over := limitError(d)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, d, over)
			defer cancel()
			return next(ctx, call)
		}
	}
}

// limitError is why a call's context ended: the tool's own limit.
type limitError time.Duration

func (e limitError) Error() string {
	return fmt.Sprintf("it took longer than the tool's limit of %v", time.Duration(e))
}

// Is makes it a [context.DeadlineExceeded], for handlers that return the cause.
func (e limitError) Is(target error) bool { return target == context.DeadlineExceeded }
