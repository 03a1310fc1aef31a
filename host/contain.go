package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// contained is the step that keeps a panic on a call's way from ending the program:
// the call fails, and has its end line like any other. What an embedding program has
// given to the host is recovered from where it is called; what is left is a fault of
// the host.
func (h *Host) contained(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (res tool.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				p := chain.Recovered("the host", v)
				res, err = tool.Result{}, &tool.Error{
					Code: tool.CodeInternal, Tool: call.Name,
					Message: fmt.Sprintf("the call of tool %s failed: %v", shorten(call.Name), p),
					Hint:    "report this", Detail: p.Stack, Err: p,
				}
			}
			if err != nil {
				h.notePanic(err)
			}
		}()
		return next(ctx, call)
	}
}

// notePanic logs the panic that an error stands for, if it does, and tells whether.
func (h *Host) notePanic(err error) bool {
	var p *chain.Panic
	if !errors.As(err, &p) {
		return false
	}
	h.opts.logger.Error(p.Where+" panicked", "panic", p.Value, "stack", p.Stack)
	return true
}

// contain runs a function of a provider, whose panic becomes an error.
func (h *Host) contain(owner string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := chain.Recovered("the provider of "+ownerName(owner), v)
			h.notePanic(p)
			err = &tool.Error{
				Code: tool.CodeUnavailable, Plugin: owner, Message: p.Error(), Hint: "report this to its author", Detail: p.Stack, Err: p,
			}
		}
	}()
	return f()
}
