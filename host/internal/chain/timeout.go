package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Timeout bounds one attempt; 0 leaves the step out. The caller's own deadline, where it
// is earlier, stays, and so does that of all attempts, see [Retry].
//
// The context is a [deadline.Context], which has no timer until somebody waits
// for its end. Steps below pass it on as it is, so that a provider can see that
// and watch the deadline in its own way.
func Timeout(d time.Duration) Middleware {
	if d <= 0 {
		return nil
	}
	var over error = limitError(d) // an interface once, not in each call
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			limited := deadline.New(ctx, traceOf(ctx).now().Add(d), over)
			defer limited.Cancel(nil)
			return next(limited, call)
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

// totalError is why a call's context ended: the limit of all its attempts.
type totalError time.Duration

func (e totalError) Error() string {
	return fmt.Sprintf("its attempts took longer than %v together", time.Duration(e))
}

// Is makes it a [context.DeadlineExceeded], as limitError is.
func (e totalError) Is(target error) bool { return target == context.DeadlineExceeded }
