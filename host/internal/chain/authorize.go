package chain

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Authorize refuses callers that do not hold the capability. The empty
// capability is held by every caller.
func Authorize(c tool.Capability) Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			if holds := t.caller().Holds; c != "" && (holds == nil || !holds(c)) {
				t.Decision = audit.Denied
				return tool.Result{}, refuse(callstage.Authorize, tool.CodePermissionDenied, call.Name,
					"Permission denied for tool: "+call.Name,
					fmt.Sprintf("it needs the capability %s, which you were not given; "+
						"do what you can without it, or say that you need it", c)).
					Fix(fmt.Sprintf("it needs the capability %s, which the operator grants: %s", c, remedy.Grant.For(string(c))))
			}
			t.Decision = audit.Allowed
			return next(ctx, call)
		}
	}
}
