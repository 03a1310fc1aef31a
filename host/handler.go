package host

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The innermost steps of a call are wrapped round the handler of its tool. Each is left
// out for tools that do not need it:
//
//	provider( protect( renamed( holding( refreshing( passing on( the handler
//
// provider and protect are put round each tool when its chain is built, renamed when an
// override gives it another name, holding and refreshing when a plugin lists it, and passing
// on when an attached provider does, which may be a host.

// provider is the innermost step of the chain: it runs the tool, whose panic harms nothing
// else and whose errors are all of one kind.
func (c *compiler) provider(e *entry) tool.Handler {
	run := tool.Protect(e.handler())
	if e.owner == "" { // a provider collects what its handlers stream itself
		run = tool.Protect(tool.Collect(e.handler()))
	}
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		t := chain.TraceFrom(ctx)
		if t != nil {
			// The limit of this attempt began a moment ago: look at the caller's.
			if err := t.Err(); err != nil {
				return tool.Result{}, tool.Errorf(tool.CodeOf(err), "tool %s was not started: %v", call.Name, deadline.Cause(t)).
					Of(call.Name, e.owner).At(callstage.Execute).NeverSent().Because(err)
			}
			t.Attempts++
			t.Publish() // a middleware may not wait for the end
			t.Asks()
		}
		res, err := run(ctx, call)
		if t != nil {
			t.Answered(ctx)
			res = tool.Streamed(t.Streamed.Take(), res) // of a provider that does not collect it
		}
		if err == nil {
			return res, nil
		}
		if e.owner == "" { // a provider wraps its handlers' errors itself
			err = tool.ExecutionError(call.Name, err)
		}
		out := *tool.AsError(err)
		if out.Tool == "" {
			out.Tool = call.Name
		}
		if out.Plugin == "" {
			out.Plugin = e.owner
		}
		if out.Detail != "" {
			c.logger.Info("tool failed",
				"tool", call.Name, "plugin", e.owner, "call", call.ID, "error", out.Message, "detail", out.Detail)
		}
		return tool.Result{}, &out
	}
}

// renamed runs a handler that knows its tool by another name than the host does.
func renamed(run tool.Handler, theirs, ours string) tool.Handler {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		call.Name = theirs
		res, err := run(ctx, call)
		if err != nil {
			e := *tool.AsError(tool.ExecutionError(ours, err))
			e.Tool = ours
			err = &e
		}
		return res, err
	}
}

// holding keeps a plugin that has state for sessions from being stopped for idleness, as
// long as the session of a call lives, and tells its keeper when that ends. The anonymous session holds nothing, as it never
// ends.
func holding(l roster.Listing) chain.Middleware {
	if l.Keeper == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if s := visitOf(chain.TraceFrom(ctx)).holder(); s != nil {
				s.holds.begin(l.Keeper)
				defer s.holds.end(l.Keeper, s.id)
			}
			return next(ctx, call)
		}
	}
}

// refreshing brings the registry up to date before it passes on that a tool's definition
// has changed, so that the next call is decided by the new definition.
func refreshing(l roster.Listing) chain.Middleware {
	if l.Changed == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			res, err := next(ctx, call)
			if err != nil && errors.Is(err, pluginrun.ErrChanged) {
				l.Changed()
			}
			return res, err
		}
	}
}
