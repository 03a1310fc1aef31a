package chain

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Prepare makes a tool's provider ready before each attempt, for example by
// starting it. The attempt's time limit begins afterwards. A nil function skips
// the step.
//
// # Errors
//
// Those of ready.
func Prepare(ready func(context.Context) error) Middleware {
	if ready == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := ready(ctx); err != nil {
				e := *tool.AsError(err)
				e.Tool = call.Name
				return tool.Result{}, &e
			}
			return next(ctx, call)
		}
	}
}
