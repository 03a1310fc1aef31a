package chain

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// firstPause is the pause before the first retry; each retry doubles it, up to
// longestPause. Up to half of a pause is randomly left out, so that the callers
// of a crashed plugin do not all come back at once.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// Retry repeats an attempt that failed through no fault of the call, at most
// most times: an attempt that never left the host, or any attempt of an
// idempotent tool. It never repeats a refusal, what a plugin has answered, a tool's own
// failure, or a call whose context has ended. All attempts together may take total (0: unlimited);
// Retry does not start one that has no time left, and repeats nothing if [Trace.Once] is set. If most is 0 or less, the
// step is skipped.
func Retry(most int, idempotent bool, total time.Duration) Middleware {
	if most <= 0 {
		return nil
	}
	var cause error = totalError(total)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			begin := traceOf(ctx).now()
			for retry := 0; ; retry++ {
				res, err := next(ctx, call)
				if err == nil || retry == most || ctx.Err() != nil || traceOf(ctx).Once || !repeatable(err, idempotent) {
					return res, err
				}
				if retry == 0 && total > 0 { // the first attempt's own limit is not longer than total
					limited := deadline.New(ctx, begin.Add(total), cause)
					defer limited.Cancel(nil)
					ctx = limited
				}
				if !pause(ctx, retry) {
					return res, err
				}
				traceOf(ctx).again(begin)
				if s, ok := ctx.Value(showingKey{}).(*showing); ok {
					s.again()
				}
			}
		}
	}
}

// repeatable reports whether another attempt may succeed and is harmless.
func repeatable(err error, idempotent bool) bool {
	var e *tool.Error
	if !errors.As(err, &e) || !e.Unsent && (!idempotent || errors.Is(err, wire.ErrClaimed)) {
		return false
	}
	switch e.Code {
	case tool.CodeCrashed, tool.CodeUnavailable, tool.CodeDeadlineExceeded:
		return true
	default:
		return false
	}
}

// pause waits before a retry. It reports whether there is time left for one.
func pause(ctx context.Context, retry int) bool {
	d := min(firstPause<<min(retry, 10), longestPause)
	d = d/2 + rand.N(d/2) //nolint:gosec // not a secret
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	return deadline.Sleep(ctx, d)
}
