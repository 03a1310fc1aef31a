package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// RateLimit limits how often each caller may call the tool of that name, with a
// bucket of limit.Calls tokens that fills in limit.Period. A nil limit skips the
// step. A call takes its token as of the time it came in.
//
// # Errors
//
//   - [tool.CodeRateLimited]; RetryAfter and the hint say when to try again
//   - [tool.CodeUnavailable] if calls are counted in a file that cannot be used
func RateLimit(rates *Rates, name string, limit *tool.RateLimit) Middleware {
	if limit == nil || unlimited(*limit) {
		return nil
	}
	b := rates.tool(name, *limit)
	tooMany := func() string {
		return fmt.Sprintf("too many calls of tool %s: %d in %v are allowed", name, limit.Calls, time.Duration(limit.Period))
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := b.charge(traceOf(ctx), call, tooMany); err != nil {
				return tool.Result{}, err
			}
			return next(ctx, call)
		}
	}
}
