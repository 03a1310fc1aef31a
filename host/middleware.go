package host

import (
	"bytes"
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// WithMiddleware adds steps to the calls of all tools, those of the embedding program: for
// tracing, or to refuse, change or answer them. The first is the
// outermost. They stand between resolve and validate in the chain of a call:
//
//	observe( audit( resolve( MIDDLEWARE( validate( authorize( quotas( ratelimit( approve( ... the tool
//
// So they see the tool's own name and not its alias, the arguments as the caller wrote them,
// and the result or error as the caller gets it. What they refuse, answer or change is on
// record as it is: changed arguments are validated, authorized and approved as changed, and
// the record has both. A call for an unknown tool does not reach them; [WithHooks] reports it.
// A step that does not call the next one answers without a capability, a rate, an approval or
// the tool. Name, ID and session of a call cannot be changed. A panic fails the call. Callers of a
// host with middleware get the text that a tool streams with the result, which the middleware has
// seen, and no deltas before. Default: none.
func WithMiddleware(steps ...tool.Middleware) Option {
	return func(o *options) {
		for _, step := range steps {
			o.refuseNil("WithMiddleware", step == nil)
		}
		o.middleware = append(o.middleware, steps...)
	}
}

// embedded is the step that runs the middleware of the embedding program; nil: there is none.
func (c *compiler) embedded() chain.Middleware {
	if len(c.middleware) == 0 {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		run := tool.Protect(containMiddleware(chain.Wrap(callThrough(next), c.middleware...)))
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}) != nil { // it decides on the result, and has not seen it yet
				ctx = tool.WithDeltas(ctx, nil)
			}
			if t := chain.TraceFrom(ctx); t != nil {
				defer t.Branching()()
			}
			return run(context.WithValue(ctx, enteredKey{}, &call), call)
		}
	}
}

// enteredKey is the context key of the call as it came to the middleware.
type enteredKey struct{}

// callThrough leaves the middleware: what must not change is as it was.
func callThrough(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		t := chain.TraceFrom(ctx)
		if t != nil {
			t = t.Branch(ctx)
			defer t.Publish()
			ctx = t
		}
		if entered, ok := ctx.Value(enteredKey{}).(*tool.Call); ok {
			call.ID, call.Name, call.Session = entered.ID, entered.Name, entered.Session
			if t != nil && !bytes.Equal(call.Arguments, entered.Arguments) {
				t.Modified = &chain.Modification{Asked: entered.Arguments, Given: call.Arguments}
			}
		}
		return next(ctx, call)
	}
}

// containMiddleware makes a panic of the middleware an error.
func containMiddleware(run tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (res tool.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				p := chain.Recovered("a middleware", v)
				res, err = tool.Result{}, &tool.Error{
					Code: tool.CodeInternal, Tool: call.Name, Detail: p.Stack, Err: p,
					Message:      fmt.Sprintf("the call of tool %s failed: %v", call.Name, p),
					OperatorHint: "report this to the author of the program that embeds the host",
				}
			}
		}()
		return run(ctx, call)
	}
}
