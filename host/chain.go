package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// buildChain puts the steps of a call in order. The first is the outermost. The steps up to
// resolve are the same for all tools, see [Host.commonChain]; those inside of provider are
// described in handler.go:
//
//	observe( admit( audit( resolve(
//	    middleware( validate( authorize( quotas( ratelimit( approve( begin( output( ask( durably( retry( prepare( timeout( concurrency( provider
//
// middleware is that of the embedding program, see [WithMiddleware].
// Unknown names are recorded, and go no further than resolve. A call without a place ([WithAdmission])
// goes no further than admit, which records it by the second. Invalid arguments never
// reach a policy, and a refused call never reaches a provider. The rate limit comes before
// the approver, so that a flood never reaches a person; the slot comes after it, so that a
// call that waits for approval does not hold one. A call that asks its caller gives its slot
// back meanwhile. The begin line is written when it is
// certain that the tool will run. The timeout bounds one attempt and begins when the plugin
// is ready; all attempts together have a limit too, and the caller's deadline bounds all.
func (c *compiler) buildChain(e *compiled) tool.Handler {
	run := c.judged(e, e.def)
	if e.isOwn() && e.override.Safety == tool.Unset {
		run = c.byHarm(e, run)
	}
	return chain.Wrap(
		run,
		c.embedded(),
		chain.Validate(e.input),
		chain.Authorize(e.def.Permission),
		chain.Quotas(),
		chain.RateLimit(c.rates, e.def.Name, e.def.RateLimit),
	)
}

// judged builds the steps from approve on, for calls of a tool that are of def's level.
func (c *compiler) judged(e *compiled, def *tool.Definition) tool.Handler {
	attempt, total := e.timeouts()
	return chain.Wrap(
		c.provider(e.entry),
		chain.Approve(chain.Question{
			Definition: def, Plugin: e.owner, Input: e.input, Rule: e.override.Approval, Preview: c.previewOf(e.entry),
			Answered: c.answered,
		}),
		c.audit.Begin(def),
		chain.Output(e.output, e.settings.Limits.MaxResult),
		chain.Ask(chain.Asking{
			Tool: e.def.Name, Plugin: e.owner, Most: e.settings.Limits.Questions, Within: e.settings.AskTimeout,
			Total: total, Open: c.questionsOf(e.owner),
		}),
		c.durably(e),
		chain.Retry(min(e.def.MaxRetries, e.settings.Limits.MaxRetries), e.def.Idempotent, total),
		chain.Prepare(e.ready),
		chain.Timeout(attempt),
		chain.Concurrency(c.slotsOf(e.entry)),
	)
}

// byHarm is run for one of the host's own tools, of which single calls can do more harm than its
// definition says: those are judged as calls of a dangerous tool, which the caller must see too. It
// stands where judging begins, as to know what a call can do may take asking the server.
func (c *compiler) byHarm(e *compiled, run tool.Handler) tool.Handler {
	def := *e.def
	def.Safety = tool.Dangerous
	dangerous := c.judged(e, &def)
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if !e.own.IsDangerous(ctx, call) {
			return run(ctx, call)
		}
		if t := chain.TraceFrom(ctx); t != nil {
			t.Definition = &def
			if v := visitOf(t); v != nil && !v.session.Sees(&def) {
				t.Decision = audit.Denied
				return tool.Result{}, tool.Errorf(tool.CodePermissionDenied, "Permission denied for tool: %s", call.Name).
					Of(call.Name, e.owner).At(callstage.Authorize).NeverSent().
					Try("the server does not list this, and what it does not list is dangerous; do what you can without it").
					Fix("the caller's tools do not allow dangerous calls of " + e.def.Name)
			}
		}
		return dangerous(ctx, call)
	}
}

// durably has a call of an own tool wait in the queue of what is attached, if that says so. The steps inside of it run
// when the call has come back.
func (c *compiler) durably(e *compiled) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		wait := chain.Wrap(func(ctx context.Context, call tool.Call) (tool.Result, error) {
			q, t := c.queue.Load(), chain.TraceFrom(ctx)
			if q == nil || t == nil {
				return next(ctx, call)
			}
			t.Attempts++
			t.Asks()
			defer t.Answered(ctx)
			return q.run(context.WithValue(ctx, mode.Own{}, true), call)
		}, chain.Timeout(e.settings.MaxTimeout))
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if q := c.queue.Load(); q == nil || e.owner == q.owner || q.of.DurableMode(call.Name) == "" || callctx.Get[bool](ctx, mode.FromQueue{}) {
				return next(ctx, call)
			}
			return wait(ctx, call)
		}
	}
}

// attachedQueue is a [mode.Queue] that was attached.
type attachedQueue struct {
	owner string
	of    mode.Queue
	run   tool.Handler
}

// commonChain builds the outer part of the chain, which all tools share.
func (h *Host) commonChain() tool.Handler {
	return chain.Wrap(
		h.resolve, chain.Observe(h.events.observer()), chain.Admit(h.places, &h.refusals), h.compiler.audit.End(), h.contained,
	)
}

// resolve finds the tool by its name, or by the alias that models use, and runs the call
// through its chain.
func (h *Host) resolve(ctx context.Context, call tool.Call) (tool.Result, error) {
	t := chain.TraceFrom(ctx)
	if err := checkKey(call); err != nil {
		return tool.Result{}, err
	}
	e, err := h.find(ctx, call.Name, visitOf(t))
	if err != nil {
		return tool.Result{}, err
	}
	asked := call.Name
	call.Name = e.def.Name
	if t != nil {
		t.Definition, t.Digest, t.Plugin = e.def, e.digest, e.owner
	}
	run := e.chain
	if v := visitOf(t); v != nil && v.key != "" {
		run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			return v.session.replays.once(ctx, v.key, e, call)
		}
	}
	res, err := run(ctx, call)
	if err == nil && res.IsError && asked != call.Name {
		res = failureBy(res, call.Name, asked)
	}
	return res, err
}

// failureBy returns a failed result whose text begins with a tool's name with the name
// that its caller used instead.
func failureBy(res tool.Result, name, asked string) tool.Result {
	if len(res.Content) == 0 {
		return res
	}
	text, ok := res.Content[0].(tool.TextContent)
	prefix := "tool " + name + " execution failed: "
	if !ok || !strings.HasPrefix(text.Text, prefix) {
		return res
	}
	text.Text = "tool " + asked + " execution failed: " + text.Text[len(prefix):]
	res.Content = slices.Clone(res.Content)
	res.Content[0] = text
	return res
}

// find returns the tool that a caller's call by that name runs; nil is a caller that sees
// every tool.
func (h *Host) find(ctx context.Context, name string, by *visit) (*compiled, error) {
	if by != nil && by.session.searches && reserved[name] {
		return h.discovery().find(name).compiled()
	}
	e := h.registry.find(name)
	if e == nil && h.registry.lookup(name) == nil {
		why, certain := h.roster.Missing(ctx, name)
		if e = h.registry.find(name); e == nil {
			return nil, h.missing(name, why, certain)
		}
	}
	if e == nil {
		return nil, h.unknown(name)
	}
	if h.closed.Load() {
		return nil, hostClosed(name)
	}
	made, err := e.compiled()
	if err != nil {
		return nil, err
	}
	if by != nil && !by.session.Sees(e.def) {
		return nil, unknownError(name, "it is not among the tools of this caller")
	}
	return made, nil
}

func hostClosed(name string) error {
	return tool.Errorf(tool.CodeUnavailable, "the host is closed, so tool %s cannot run", name).
		Of(name, "").At(callstage.Resolve).NeverSent().Fix("make a new host")
}

// unknown returns the error for a name that no tool has, with the names that may have been
// meant.
func (h *Host) unknown(name string) error {
	if h.registry.lookup(name) != nil {
		return unknownError(name, "the operator has disabled it")
	}
	e := unknownError(name, "")
	listed := h.registry.read().listed()
	names, aliases := make([]string, len(listed)), make([]string, len(listed))
	for i, t := range listed {
		names[i], aliases[i] = t.def.Name, t.alias
	}
	if strings.Contains(name, ".") { // only names have dots: the caller does not know the aliases
		aliases = names
	}
	e.Hint = didYouMean(suggest.Nearest(name, aliases, nearest))
	switch e.OperatorHint = didYouMean(suggest.Nearest(name, names, nearest)); {
	case len(listed) == 0:
		e.OperatorHint = remedy.NoTools.String()
	case e.OperatorHint == "" && e.Hint == "":
		e.OperatorHint = remedy.ListTools.String()
	}
	return e
}

// nearest is how many names an error suggests at most.
const nearest = 3

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// missing returns the error for a name that no tool has. If a plugin cannot be used that has
// it (certain) or may have it, why says why; else it is nil. A name that is much like that
// of a tool is taken for a mistake.
func (h *Host) missing(name string, why *tool.Error, certain bool) error {
	if why == nil || !certain && len(suggest.Nearest(name, h.names(), 1)) > 0 {
		return h.unknown(name)
	}
	out := *why
	out.Tool, out.Stage, out.Unsent, out.Err = name, callstage.Resolve, true, why
	out.Message = fmt.Sprintf("tool %s is not available: %s", shorten(name), why.Message)
	if !certain {
		out.Err = fmt.Errorf("%w: %w", tool.ErrNotFound, why)
		out.Message = fmt.Sprintf("Unknown tool: %s (unless it is one of a plugin that is not available: %s)",
			shorten(name), why.Message)
	}
	return &out
}

func unknownError(name, hint string) *tool.Error {
	return tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", shorten(name)).
		Of(name, "").At(callstage.Resolve).NeverSent().Because(tool.ErrNotFound).Try(hint)
}

// shorten makes a name that a model made up fit to be shown.
func shorten(name string) string {
	if q := strconv.Quote(name); len(q) != len(name)+2 || len(name) > ident.MaxTool {
		return q[:min(len(q), ident.MaxTool)]
	}
	return name
}
