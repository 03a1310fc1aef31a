package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Override is what the operator decides about one tool. What a plugin says about its
// tool is a claim, which an override replaces. The zero value leaves every claim as it
// is. The JSON names are those of toolhost.yaml.
type Override struct {
	// Disabled removes the tool: it is not listed, and calls do not find it. Its name
	// stays taken.
	Disabled bool `json:"disable,omitempty"`
	// Name is the name that callers see; empty: the name that its source gives it.
	Name string `json:"rename,omitempty"`
	// Safety is how much harm the tool can do, more or less than is claimed;
	// [tool.Unset]: as claimed.
	Safety tool.Safety `json:"safety,omitempty"`
	// Approval says which of its calls need a yes. Default: [policy.BySafety].
	Approval policy.Rule `json:"approval,omitempty"`
	// Permission is the capability that a caller must hold, empty: none; nil: as
	// claimed.
	Permission *tool.Capability `json:"permission,omitempty"`
	// Idempotent says whether a call may be repeated; nil: as claimed.
	Idempotent *bool `json:"idempotent,omitempty"`
	// MaxRetries is how often a failed call is repeated; nil: as claimed.
	MaxRetries *int `json:"retries,omitempty"`
	// Timeout bounds one attempt, even above [WithMaxTimeout]; 0: as claimed.
	Timeout time.Duration `json:"timeout,omitempty"`
	// RateLimit bounds the calls of each caller; with Calls 0, no bound; nil: as claimed.
	RateLimit *tool.RateLimit `json:"rate,omitempty"`
}

// WithOverrides has the operator's word on tools, by the names that their sources
// give them. It holds for tools of every kind, whenever they come. Default: none.
func WithOverrides(all map[string]Override) Option {
	return func(o *options) { o.overrides = maps.Clone(all) }
}

// SetOverrides replaces the operator's word on all tools, those that are there and
// those to come, in one step. Calls under way end by the old one.
//
// # Errors
//
// Where an override does not fit its tool, or gives it the name of another, nothing
// changes: [tool.CodeInvalidDefinition], [tool.CodeAlreadyExists].
func (h *Host) SetOverrides(all map[string]Override) error {
	h.ruling.Lock()
	defer h.ruling.Unlock()
	before := h.opts.overrides
	h.opts.overrides = maps.Clone(all)
	err := h.registry.revise(func(e *entry) bool {
		return !reflect.DeepEqual(e.override, all[e.source.Name])
	}, func(e *entry) (*entry, error) {
		now, err := h.draft(e.owner, e.source)
		if err != nil {
			return nil, err
		}
		now.ready, now.input, now.output = e.ready, e.input, e.output
		now.limit(e.settings)
		if e.later != nil {
			return h.promise(now), nil
		}
		return h.build(now, nil)
	})
	if err != nil {
		h.opts.overrides = before
	}
	return err
}

// apply is a definition by the operator's word.
func (o Override) apply(d tool.Definition) tool.Definition {
	d.Name = cmp.Or(o.Name, d.Name)
	d.Safety = cmp.Or(o.Safety, d.Safety)
	d.Timeout = cmp.Or(tool.Duration(o.Timeout), d.Timeout)
	switch {
	case o.RateLimit == nil:
	case o.RateLimit.Calls == 0:
		d.RateLimit = nil
	default:
		d.RateLimit = o.RateLimit
	}
	if o.Permission != nil {
		d.Permission = *o.Permission
	}
	if o.Idempotent != nil {
		d.Idempotent = *o.Idempotent
	}
	if o.MaxRetries != nil {
		d.MaxRetries = *o.MaxRetries
	}
	return d
}

// draft is a tool that nothing is wrong with at first sight, by the operator's word.
// Its schemas are not looked at.
func (h *Host) draft(owner string, t tool.Tool) (*entry, error) {
	if err := t.Check(); err != nil {
		return nil, signOwner(err, owner)
	}
	if t.Handler == nil {
		return nil, badTool(owner, t.Name, "the handler is nil")
	}
	e := &entry{source: t, owner: owner, handler: t.Handler, preview: t.Preview, def: t.Definition, override: h.opts.overrides[t.Name]}
	e.limit(&h.opts.defaults)
	if reflect.ValueOf(e.override).IsZero() {
		return e, nil
	}
	e.def = e.override.apply(t.Definition)
	e.limit(e.settings)
	if err := e.def.Check(); err != nil {
		return nil, badTool(owner, t.Name, "what is configured for it does not fit: %w", err)
	}
	if e.def.Name != t.Name {
		e.handler, e.preview = renamed(t.Handler, t.Name, e.def.Name), renamed(t.Preview, t.Name, e.def.Name)
	}
	return e, nil
}

// limit sets the limits, and holds what the tool claims of time to them. What the operator
// said of the tool itself stands.
func (e *entry) limit(s *plugin.Settings) {
	e.settings = s
	e.def.Timeout = cmp.Or(tool.Duration(e.override.Timeout), e.source.Timeout)
	if most := tool.Duration(s.MaxTimeout); e.override.Timeout == 0 && most > 0 && e.def.Timeout > most {
		e.def.Timeout = most
	}
}

// timeouts bound a call of the tool: one attempt, and all of them; 0: nothing does.
func (e *entry) timeouts() (attempt, total time.Duration) {
	attempt = cmp.Or(time.Duration(e.def.Timeout), e.settings.CallTimeout)
	if attempt > 0 && e.settings.MaxTimeout > 0 {
		total = max(attempt, e.settings.MaxTimeout)
	}
	return attempt, total
}

// renamed is a handler that knows its tool by another name than the host does.
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

func badTool(owner, name, format string, args ...any) error {
	err := tool.Errorf(tool.CodeInvalidDefinition, "tool %q: "+format, append([]any{name}, args...)...)
	err.Tool, err.Plugin, err.Stage = name, owner, tool.StageRegister
	err.Hint = "correct the tool's definition"
	return err
}

// revise replaces the entries that are stale, all of them or none.
func (r *registry) revise(stale func(*entry) bool, remake func(*entry) (*entry, error)) error {
	return r.edit(func(byName map[string]*entry) error {
		var old []*entry
		for name, e := range byName {
			if stale(e) {
				old = append(old, e)
				delete(byName, name)
			}
		}
		slices.SortFunc(old, func(a, b *entry) int { return cmp.Compare(a.source.Name, b.source.Name) })
		for _, e := range old {
			now, err := remake(e)
			if err != nil {
				return err
			}
			if there := r.holder(byName, now); there != nil {
				return fmt.Errorf("tool %s cannot be renamed: %w", e.source.Name, takenError(now, there))
			}
			byName[now.def.Name] = now
		}
		return nil
	})
}
