package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Timeout limits the time of one attempt; 0 skips the step. An earlier deadline
// of the caller, or of all attempts (see [Retry]), still applies.
//
// The context is a [deadline.Context], which has no timer until Done is called.
// Inner steps pass it on unchanged, so that a provider can recognize it and
// watch the deadline in its own way.
//
// A call that may ask its caller has a [deadline.Pausable] instead, which stands still
// meanwhile; see [Ask].
func Timeout(d time.Duration) Middleware {
	var cause error = limitError(d) // converted to an interface once, not in each call
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if a := askingFrom(ctx); a != nil {
				limited, end := a.begin(ctx, d, cause)
				defer end()
				return next(limited, call)
			}
			if d <= 0 {
				return next(ctx, call)
			}
			t := traceOf(ctx)
			t.phases.attempt = time.Since(t.Begin)
			limited := deadline.New(ctx, t.Begin.Add(t.phases.attempt+d), cause)
			defer limited.Cancel(nil)
			return next(limited, call)
		}
	}
}

// limitError is the cause of a context that ended by the tool's own limit.
type limitError time.Duration

func (e limitError) Error() string {
	return fmt.Sprintf("it took longer than the tool's limit of %v", time.Duration(e))
}

// Is reports that limitError is a [context.DeadlineExceeded], for handlers that
// return the cause.
func (e limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// totalError is the cause of a context that ended by the limit of all attempts.
type totalError time.Duration

func (e totalError) Error() string {
	return fmt.Sprintf("its attempts took longer than %v together", time.Duration(e))
}

// Is reports that totalError is a [context.DeadlineExceeded], as limitError is.
func (e totalError) Is(target error) bool { return target == context.DeadlineExceeded }
