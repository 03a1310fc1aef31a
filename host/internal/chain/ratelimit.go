package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// RateLimit bounds how often each caller may call a tool: a bucket of
// limit.Calls tokens that fills in limit.Period. Nil leaves the step out. A call
// counts as of the moment at which it came in.
//
// # Errors
//
// [tool.CodeRateLimited], with when to try again in RetryAfter and in the hint.
func RateLimit(limit *tool.RateLimit) Middleware {
	if limit == nil || time.Duration(limit.Period) < time.Duration(limit.Calls) {
		return nil // more than one in a nanosecond is no limit
	}
	b := newBuckets(*limit)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			if wait := b.take(t.caller().ID(), t.Begin); wait > 0 {
				e := refuse(tool.StageRateLimit, tool.CodeRateLimited, call.Name,
					fmt.Sprintf("too many calls of tool %s: %d in %v are allowed",
						call.Name, limit.Calls, time.Duration(limit.Period)),
					fmt.Sprintf("try again in %v", wait.Round(time.Millisecond)+time.Millisecond))
				e.RetryAfter = tool.Duration(wait)
				return tool.Result{}, e
			}
			return next(ctx, call)
		}
	}
}
