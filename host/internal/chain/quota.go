package chain

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Quota bounds the calls of one caller, of all tools together. [Rates.Quota] returns one.
type Quota struct {
	most    int          // calls at a time; 0: any number
	running atomic.Int64 // those in progress
	calls   *buckets     // how often; nil: any number
}

// hasRate reports whether the quota has this rate; nil: none.
func (q *Quota) hasRate(rate *tool.RateLimit) bool {
	if q.calls == nil || rate == nil {
		return q.calls == nil && rate == nil
	}
	return q.calls.limit == *rate
}

// Quotas bounds how many calls each caller has in progress, those that wait for approval
// included, and how often it may call. Callers without a quota skip the step.
//
// # Errors
//
//   - [tool.CodeResourceExhausted] if as many calls are in progress as may be
//   - [tool.CodeRateLimited]; RetryAfter and the hint say when to try again
//   - [tool.CodeUnavailable] if calls are counted in a file that cannot be used
func Quotas() Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			q := t.caller().Quota
			if q == nil {
				return next(ctx, call)
			}
			if err := q.enter(t, call); err != nil {
				return tool.Result{}, err
			}
			defer q.running.Add(-1)
			return next(ctx, call)
		}
	}
}

// enter counts a call in, unless it is refused.
func (q *Quota) enter(t *Trace, call tool.Call) (err error) {
	defer func() {
		if err != nil {
			q.running.Add(-1)
		}
	}()
	name := t.caller().Name
	if n := q.running.Add(1); q.most > 0 && n > int64(q.most) {
		return refuse(callstage.RateLimit, tool.CodeResourceExhausted, call.Name,
			fmt.Sprintf("tool %s did not run: %d calls of the caller %s are in progress, as many as it may have",
				call.Name, q.most, name),
			"try again when some have ended")
	}
	if q.calls == nil {
		return nil
	}
	return q.calls.charge(t, call, func() string {
		limit := q.calls.limit
		return fmt.Sprintf("too many calls of the caller %s: %d in %v are allowed",
			name, limit.Calls, time.Duration(limit.Period))
	})
}
