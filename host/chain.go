package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// buildChain puts the steps of a call in order. The first is the outermost. The steps up to
// resolve are the same for all tools, see [Host.commonChain]; those inside of provider are
// described in handler.go:
//
//	observe( audit( resolve(
//	    validate( authorize( ratelimit( approve( begin( output( retry( prepare( timeout( concurrency( provider
//
// Unknown names are recorded, and go no further than resolve. Invalid arguments never
// reach a policy, and a refused call never reaches a provider. The rate limit comes before
// the approver, so that a flood never reaches a person; the slot comes after it, so that a
// call that waits for approval does not hold one. The begin line is written when it is
// certain that the tool will run. The timeout bounds one attempt and begins when the plugin
// is ready; all attempts together have a limit too, and the caller's deadline bounds all.
func (c *compiler) buildChain(e *entry) tool.Handler {
	attempt, total := e.timeouts()
	return chain.Wrap(
		c.provider(e),
		chain.Validate(e.input),
		chain.Authorize(e.def.Permission),
		chain.RateLimit(e.def.RateLimit),
		chain.Approve(chain.Question{
			Definition: &e.def, Plugin: e.owner, Input: e.input, Rule: e.override.Approval, Preview: c.previewOf(e),
		}),
		c.audit.Begin(&e.def),
		chain.Output(e.output, e.settings.Limits.MaxResult),
		chain.Retry(min(e.def.MaxRetries, e.settings.Limits.MaxRetries), e.def.Idempotent, total),
		chain.Prepare(e.ready),
		chain.Timeout(attempt),
		chain.Concurrency(c.slotsOf(e)),
	)
}

// commonChain builds the outer part of the chain, which all tools share.
func (h *Host) commonChain() tool.Handler {
	return chain.Wrap(h.resolve, chain.Observe(h.observer), h.compiler.audit.End(), h.contained)
}

// resolve finds the tool by its name, or by the alias that models use, and runs the call
// through its chain.
func (h *Host) resolve(ctx context.Context, call tool.Call) (tool.Result, error) {
	e := h.registry.find(call.Name)
	if e == nil {
		return tool.Result{}, h.unknown(call.Name)
	}
	if h.closed.Load() {
		return tool.Result{}, &tool.Error{
			Code: tool.CodeUnavailable, Tool: call.Name, Plugin: e.owner, Stage: tool.StageResolve, Unsent: true,
			Message: fmt.Sprintf("the host is closed, so tool %s cannot run", call.Name), Hint: "make a new host",
		}
	}
	e, err := e.compiled()
	if err != nil {
		return tool.Result{}, err
	}
	call.Name = e.def.Name
	if t := chain.TraceFrom(ctx); t != nil {
		if s, ok := t.Caller.(*Session); ok && !s.Sees(&e.def) {
			return tool.Result{}, unknownError(call.Name, "it is not among the tools of this caller")
		}
		t.Definition, t.Digest, t.Plugin = &e.def, e.digest, e.owner
	}
	return e.chain(ctx, call)
}

// unknown returns the error for a name that no tool has, with the names that may have been
// meant.
func (h *Host) unknown(name string) error {
	if h.registry.lookup(name) != nil {
		return unknownError(name, "the operator has disabled it")
	}
	names := h.Names()
	hint := "see toolhost tools for the names"
	if len(names) == 0 {
		hint = "no tools are loaded: check the plugin directory with toolhost plugins"
	} else if near := suggest.Nearest(name, names, 3); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return unknownError(name, hint)
}

func unknownError(name, hint string) error {
	return &tool.Error{
		Code: tool.CodeNotFound, Tool: name, Stage: tool.StageResolve, Unsent: true, Err: tool.ErrNotFound,
		Message: "Unknown tool: " + shorten(name), Hint: hint,
	}
}

// shorten makes a name that a model made up fit to be shown.
func shorten(name string) string {
	if q := strconv.Quote(name); len(q) != len(name)+2 || len(name) > tool.MaxNameLength {
		return q[:min(len(q), tool.MaxNameLength)]
	}
	return name
}
