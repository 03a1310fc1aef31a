package host

import (
	"cmp"
	"maps"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Override is what the operator decides about one tool. What a plugin says about its
// tool is a claim, which an override replaces. The zero value leaves every claim as it
// is. The JSON names are those of toolhost.yaml.
type Override struct {
	// Disabled says whether the tool is removed.
	//
	// It is not listed, and calls do not find it. Its name stays taken.
	Disabled bool `json:"disable,omitempty" default:"false" example:"true"`
	// Name is the name that callers see. Default: the plugin's name for the tool.
	Name string `json:"rename,omitempty" is:"tool" example:"read_file"`
	// Safety is how much harm the tool can do: safe tools only look, cautious tools change what can be changed back,
	// dangerous tools need approval. moderate is an older name for cautious. Default: as claimed.
	Safety tool.Safety `json:"safety,omitempty" example:"dangerous"`
	// Idempotent says whether a call may be repeated with no further effect. Default: as claimed.
	Idempotent *bool `json:"idempotent,omitempty" example:"false"`
	// Approval is which calls need approval: default is the calls of dangerous tools, ask is every call,
	// allow approves every call, and deny refuses every call.
	Approval policy.Rule `json:"approval,omitempty" enum:"default,ask,allow,deny" words:"default="`
	// RateLimit bounds the calls of each caller: a number of calls, a slash and a period of up to 24h, such as 10/1m
	// or 5/s. unlimited lifts the tool's own limit. Default: as claimed.
	RateLimit *tool.RateLimit `json:"rate,omitempty" example:"10/1m"`
	// Timeout bounds one attempt, 1ms to 24h. Default: as claimed.
	//
	// It holds even above [plugin.Settings.MaxTimeout]. 0: as claimed.
	Timeout time.Duration `json:"timeout,omitempty" example:"30s"`
	// MaxRetries is how often a failed call may be repeated if that is safe, 0 to 10. Default: as claimed.
	MaxRetries *int `json:"retries,omitempty" minimum:"0" maximum:"10" example:"0"`
	// Permission is the capability that callers need, such as fs:read, or none. Default: as claimed.
	//
	// Empty: none; nil: as claimed.
	Permission *tool.Capability `json:"permission,omitempty" is:"capability" words:"none=" example:"net"`
	// Also is the words that callers say and the tool lacks, for the search of discovery: search. Default: none.
	Also []string `json:"also,omitempty" example:"forecast"`
}

// overrides are the operator's overrides, by the names that owners give their tools.
type overrides map[string]Override

// of returns the override of a tool.
func (o *overrides) of(name string) *Override {
	if o != nil {
		if out, there := (*o)[name]; there {
			return &out
		}
	}
	return &noOverride
}

// noOverride is that of most tools, which share it.
var noOverride Override

func (o Override) isZero() bool { return reflect.ValueOf(o).IsZero() }

func (o *Override) equal(other *Override) bool { return o == other || reflect.DeepEqual(o, other) }

// WithOverrides sets the operator's overrides of tools, by the names that their sources
// give them. They hold for tools of every kind, whenever they are added. Default: none.
func WithOverrides(all map[string]Override) Option {
	return func(o *options) {
		o.overrides = new(overrides(maps.Clone(all)))
	}
}

// override replaces all overrides in one step; see [Host.Reconfigure].
func (h *Host) override(next *overrides) error {
	h.roster.Reread()
	err := h.registry.revise(func() (undo func()) {
		before := h.compiler.rules.Swap(next)
		return func() { h.compiler.rules.Store(before) }
	}, func(e *entry) bool { return e.changed != nil || !e.override.equal(next.of(e.source.Name)) }, h.compiler.recompile)
	if err == nil { // a tool may have been renamed, or have got the name of another
		h.roster.ReturnNames()
		h.keepLevels()
	}
	return err
}

// apply returns a definition with the override.
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

// limited returns the timeout that the tool claims, cut down to the limit of its settings. One that
// the operator set for the tool stands.
func (e *entry) limited(claimed tool.Duration) tool.Duration {
	if most := tool.Duration(e.settings.MaxTimeout); e.override.Timeout == 0 && most > 0 {
		return min(claimed, most)
	}
	return claimed
}

// timeouts returns the bounds of one attempt, and of all of them; 0: there is none.
func (e *entry) timeouts() (attempt, total time.Duration) {
	attempt = cmp.Or(time.Duration(e.def.Timeout), e.settings.CallTimeout)
	if attempt > 0 && e.settings.MaxTimeout > 0 {
		total = max(attempt, e.settings.MaxTimeout)
	}
	return attempt, total
}
