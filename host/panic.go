package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// contained is the step that keeps a panic in the chain from ending the program: the call
// fails, and has its end line like any other. Panics of what the embedder gave to the host
// are recovered at the call; those that are left are faults of the host.
func (h *Host) contained(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (res tool.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				p := chain.Recovered("the host", v)
				res, err = tool.Result{}, &tool.Error{
					Code: tool.CodeInternal, Tool: call.Name,
					Message:      fmt.Sprintf("the call of tool %s failed: %v", shorten(call.Name), p),
					OperatorHint: "report this", Detail: p.Stack, Err: p,
				}
			}
			if err != nil {
				h.logPanic(err)
			}
		}()
		return next(ctx, call)
	}
}

// logPanic logs the panic that an error stands for, and reports whether it does.
func (h *Host) logPanic(err error) bool {
	var p *chain.Panic
	if !errors.As(err, &p) {
		return false
	}
	h.opts.logger.Error(p.Where+" panicked", "panic", p.Value, "stack", p.Stack)
	return true
}
