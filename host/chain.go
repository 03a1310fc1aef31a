package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// compile checks a tool and lays its way, once: what can be decided per
// definition is not decided per call.
func (h *Host) compile(owner string, t tool.Tool, budget *schema.Budget) (*entry, error) {
	e, err := h.draft(owner, t)
	if err != nil {
		return nil, err
	}
	return h.build(e, budget)
}

// build makes the entry of a draft. Schemas that it has already are not compiled again.
func (h *Host) build(draft *entry, budget *schema.Budget) (*entry, error) {
	made := *draft
	e := &made
	bad := func(format string, args ...any) error { return badTool(e.owner, e.source.Name, format, args...) }
	e.def = e.def.Clone()
	e.source.Definition = e.source.Clone()
	var err error
	if e.input == nil {
		if e.input, err = budget.CompileInput(e.def.InputSchema); err != nil {
			return nil, bad("input schema: %w", err)
		}
		if len(e.def.OutputSchema) > 0 {
			if e.output, err = budget.CompileOutput(e.def.OutputSchema); err != nil {
				return nil, bad("output schema: %w", err)
			}
		}
	}
	e.def.InputSchema = e.input.Text()
	text, err := json.Marshal(e.def)
	if err != nil {
		return nil, bad("its schemas are not JSON: %w", err)
	}
	e.digest = audit.Digest(text)
	e.route = h.lay(e)
	return e, nil
}

// lay puts the steps of a call in order. The first is the outermost, and what is
// left of resolve is the same for all tools, see [Host.enter]:
//
//	observe( audit( resolve(
//	    validate( authorize( ratelimit( approve( begin( output( retry( prepare( timeout( concurrency( provider
//
// Unknown names are on record, and go no further than resolve. Invalid arguments
// never reach a policy; what is refused never reaches a provider. The rate limit
// stands before the approver, so that a flood never reaches a person; the slot
// stands behind, so that nobody who waits for a yes holds one. The begin line is
// written when it is certain that the tool will be asked. The timeout is each
// attempt's and begins when the plugin is ready; all attempts together have a limit too,
// and the caller's deadline bounds all.
func (h *Host) lay(e *entry) tool.Handler {
	attempt, total := e.timeouts()
	return tool.Chain(
		h.provider(e),
		chain.Validate(e.input),
		chain.Authorize(e.def.Permission),
		chain.RateLimit(e.def.RateLimit),
		chain.Approve(chain.Question{
			Definition: &e.def, Plugin: e.owner, Input: e.input, Rule: e.override.Approval, Preview: h.previewOf(e),
		}),
		h.audit.Begin(&e.def),
		chain.Output(e.output, e.settings.Limits.MaxResult),
		chain.Retry(min(e.def.MaxRetries, e.settings.Limits.MaxRetries), e.def.Idempotent, total),
		chain.Prepare(e.ready),
		chain.Timeout(attempt),
		chain.Concurrency(h.slotsOf(e)),
	)
}

// provider is the innermost step: the tool itself, whose panic harms nobody and
// whose errors are all of one kind.
func (h *Host) provider(e *entry) tool.Handler {
	run := tool.Protect(e.handler)
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if t := chain.TraceFrom(ctx); t != nil {
			// The attempt's own limit began a moment ago: it is the caller's end that
			// is looked at.
			if err := t.Err(); err != nil {
				return tool.Result{}, &tool.Error{
					Code: tool.CodeOf(err), Tool: call.Name, Plugin: e.owner, Stage: tool.StageExecute, Unsent: true, Err: err,
					Message: fmt.Sprintf("tool %s was not started: %v", call.Name, deadline.Cause(t)),
				}
			}
			t.Attempts++
		}
		res, err := run(ctx, call)
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
			h.opts.logger.Info("tool failed", "tool", call.Name, "plugin", e.owner, "call", call.ID, "error", out.Message, "detail", out.Detail)
		}
		return tool.Result{}, &out
	}
}

// enter lays the part of the way that all tools share.
func (h *Host) enter() tool.Handler {
	return tool.Chain(h.resolve, chain.Observe(h.observer), h.audit.End(), h.contained)
}

// resolve finds the tool by its name, or by the alias that models use, and sends
// the call on its way.
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
	return e.route(ctx, call)
}

// unknown is the error for a name that is not there, with those that may have
// been meant.
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

// shorten keeps a name that a model made up fit to be shown.
func shorten(name string) string {
	if q := strconv.Quote(name); len(q) != len(name)+2 || len(name) > tool.MaxNameLength {
		return q[:min(len(q), tool.MaxNameLength)]
	}
	return name
}

func signOwner(err error, owner string) error {
	var e *tool.Error
	if owner == "" || !errors.As(err, &e) {
		return err
	}
	signed := *e
	signed.Plugin, signed.Tool = owner, shorten(e.Tool)
	return &signed
}
