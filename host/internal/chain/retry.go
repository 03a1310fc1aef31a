package chain

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The pause before the first retry, and the longest. Each retry doubles it, and
// a random half is left out, so that callers of a plugin that died do not come
// back all at once.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// Retry repeats an attempt that failed through no fault of the call, at most so
// many more times: one that never left the host, or one of an idempotent tool. It
// never repeats a refusal, a tool's own failure or a call whose context has
// ended, nor begins what there is no time for: all attempts together may take so long
// (total; 0: any time). 0 or less leaves the step out.
func Retry(most int, idempotent bool, total time.Duration) Middleware {
	if most <= 0 {
		return nil
	}
	var spent error = totalError(total)
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			begin := traceOf(ctx).now()
			for retry := 0; ; retry++ {
				res, err := next(ctx, call)
				if err == nil || retry == most || ctx.Err() != nil || !repeatable(err, idempotent) {
					return res, err
				}
				if retry == 0 && total > 0 { // the first attempt has a limit that is no longer
					limited := deadline.New(ctx, begin.Add(total), spent)
					defer limited.Cancel(nil)
					ctx = limited
				}
				if !pause(ctx, retry) {
					return res, err
				}
			}
		}
	}
}

// repeatable reports whether another attempt may fare better and does no harm.
func repeatable(err error, idempotent bool) bool {
	var e *tool.Error
	if !errors.As(err, &e) || !e.Unsent && !idempotent {
		return false
	}
	switch e.Code {
	case tool.CodeCrashed, tool.CodeUnavailable, tool.CodeDeadlineExceeded:
		return true
	default:
		return false
	}
}

// pause waits before a retry, and reports whether there is time left for one.
func pause(ctx context.Context, retry int) bool {
	d := min(firstPause<<min(retry, 10), longestPause)
	d = d/2 + rand.N(d/2) //nolint:gosec // no secret
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
