package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// RateLimit bounds how often each caller may call a tool: a bucket of
// limit.Calls tokens that fills in limit.Period. Nil leaves the step out.
//
// # Errors
//
// [tool.CodeRateLimited], with when to try again in RetryAfter and in the hint.
func RateLimit(limit *tool.RateLimit) tool.Middleware {
	if limit == nil {
		return nil
	}
	b := &buckets{limit: *limit, byCaller: map[string]*rate.Limiter{}}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if wait := b.take(callerFrom(ctx).ID(), time.Now()); wait > 0 {
				return tool.Result{}, &tool.Error{
					Code: tool.CodeRateLimited, Tool: call.Name, Stage: tool.StageRateLimit, Unsent: true, RetryAfter: wait,
					Message: fmt.Sprintf("Too many calls of tool %s: %d in %v are allowed", call.Name, limit.Calls, time.Duration(limit.Period)),
					Hint:    fmt.Sprintf("try again in %v", wait.Round(time.Millisecond)+time.Millisecond),
				}
			}
			return next(ctx, call)
		}
	}
}

// manyCallers is when buckets are looked through for such as are full again: a
// full one is as good as none.
const manyCallers = 1024

// buckets are one tool's, one for each caller.
type buckets struct {
	limit tool.RateLimit

	mu       sync.Mutex
	byCaller map[string]*rate.Limiter
	sweepAt  int
}

// take gives a token, or says how long to wait for one.
func (b *buckets) take(caller string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.byCaller[caller]
	if l == nil {
		b.sweep(now)
		every := time.Duration(b.limit.Period) / time.Duration(b.limit.Calls)
		l = rate.NewLimiter(rate.Every(every), b.limit.Calls)
		b.byCaller[caller] = l
	}
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// sweep forgets callers that have been quiet, before there are too many.
func (b *buckets) sweep(now time.Time) {
	if len(b.byCaller) < max(manyCallers, b.sweepAt) {
		return
	}
	for id, l := range b.byCaller {
		if l.TokensAt(now) >= float64(b.limit.Calls) {
			delete(b.byCaller, id)
		}
	}
	b.sweepAt = 2 * len(b.byCaller) // so that sweeping stays cheap on average
}
