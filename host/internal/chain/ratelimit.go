package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// RateLimit limits how often each caller may call a tool, with a bucket of
// limit.Calls tokens that fills in limit.Period. A nil limit skips the step. A
// call takes its token as of the time it came in.
//
// # Errors
//
// [tool.CodeRateLimited]. RetryAfter and the hint say when to try again.
func RateLimit(limit *tool.RateLimit) Middleware {
	if limit == nil || time.Duration(limit.Period) < time.Duration(limit.Calls) {
		return nil // more than one call per nanosecond is unlimited
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
