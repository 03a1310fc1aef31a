package host

import (
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/trust"
)

// operator is what the operator decides for plugins, and may change while the host runs.
type operator struct {
	defaults plugin.Settings // of all plugins
	recorder *Recorder       // nil: nothing is recorded

	mu       sync.Mutex // never held while waiting
	settings func(name string, s *plugin.Settings)
	disabled func(plugin.Candidate) (reason, sha256 string)
	locks    []*lockFile
	trust    Trust
	trusted  trust.Store // which content of locks inside the root counts
	root     string

	signed verdicts // of what was started
}

// settingsOf returns what the operator decides for a plugin that was found.
func (o *operator) settingsOf(c plugin.Candidate) plugin.Settings {
	o.mu.Lock()
	change, disabled := o.settings, o.disabled
	o.mu.Unlock()
	s := o.defaults
	if change != nil {
		change(c.Name, &s)
	}
	if disabled != nil && s.Enabled {
		s.Reason, s.SHA256 = disabled(c)
		s.Enabled = s.Reason == ""
	}
	return s
}

// pinsOf returns the pins of a plugin directory, or of servers if it is empty; nil: all may run.
func (o *operator) pinsOf(dir string) (pluginrun.Pins, error) {
	o.mu.Lock()
	verified := o.trust
	o.mu.Unlock()
	var all allPins
	if o.recorder != nil {
		all = append(all, recording{o.recorder, dir == ""})
	}
	pins, err := o.lockPins(dir)
	if err != nil {
		return nil, err
	}
	if pins != nil { // first: of a file that was edited, a signature says no more than that it has none
		all = append(all, pins)
	}
	if signed := verified.of(dir, &o.signed); signed != nil {
		all = append(all, signed)
	}
	if all == nil {
		return nil, nil
	}
	return all, nil
}

// serverPins returns the pins of servers; nil: every server may run.
func (o *operator) serverPins() (pluginrun.Pins, error) { return o.pinsOf("") }

// WithPluginSettings sets what the operator decides for single plugins. When a plugin is
// found, change is called with its name and the settings of all plugins, which are
// [plugin.DefaultSettings] with the other options of this host. Default: no change.
func WithPluginSettings(change func(name string, s *plugin.Settings)) Option {
	return deciding(func(o *operator) { o.settings = change })
}

// deciding returns an option that [Host.Reconfigure] takes.
func deciding(decide func(*operator)) Option {
	return func(o *options) { o.decided = append(o.decided, decide) }
}

// Reconfigure replaces what [WithDisabled], [WithLocks], [WithOverrides], [WithPluginSettings] and [WithTrust]
// said, as far as they are among the options; others change nothing.
//
//   - Overrides hold in one step, for the tools that are there and those that are added later. Calls under way
//     end by the old ones. A level is given to a tool as it is defined then: one of a plugin or server that is
//     defined otherwise later is dangerous, unless its owner claims no more harm than the level allows, until
//     [Host.AcceptLevels].
//   - Locks and trust hold from the next start on. A lock that was required because its file was there once is
//     not required any more, unless these require it.
//   - Settings, and what is disabled, are taken over at the next [Host.Sync], or when [Host.Follow] looks next.
//
// # Errors
//
// [tool.CodeInvalidArguments] for a nil option. If an override does not fit its tool, or gives it the name of
// another: [tool.CodeInvalidDefinition], [tool.CodeAlreadyExists]. Nothing changes then.
func (h *Host) Reconfigure(opts ...Option) error {
	o := options{operator: &operator{}}
	for _, opt := range opts {
		if o.refuseNil("Reconfigure", opt == nil); opt != nil {
			opt(&o)
		}
	}
	if o.fault != nil {
		return o.fault
	}
	if o.overrides != nil {
		if err := h.override(o.overrides); err != nil {
			return err
		}
	}
	h.operator.mu.Lock()
	defer h.operator.mu.Unlock()
	for _, decide := range o.decided {
		decide(h.operator)
	}
	return nil
}

// WithDisabled disables plugins for a reason that depends on their files: it is asked when one
// is found. An empty reason: it may run, with this content of its file ([plugin.Settings.SHA256]).
// Default: nil, and all may.
func WithDisabled(of func(plugin.Candidate) (reason, sha256 string)) Option {
	return deciding(func(o *operator) { o.disabled = of })
}

// allLocks returns the locks, which never change.
func (o *operator) allLocks() []*lockFile {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locks
}
