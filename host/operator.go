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
	hold     func(plugin.Candidate) (reason, sha256 string)
	locks    []*lockFile
	pins     func() (pluginrun.Pins, error) // in place of the locks; nil: they count
	trust    Trust
	trusted  trust.Store // which content of locks inside the root counts
	root     string

	signed verdicts // of what was started
}

// settingsOf returns what the operator decides for a plugin that was found.
func (o *operator) settingsOf(c plugin.Candidate) plugin.Settings {
	o.mu.Lock()
	change, hold := o.settings, o.hold
	o.mu.Unlock()
	s := o.defaults
	if change != nil {
		change(c.Name, &s)
	}
	if hold != nil && s.Enabled {
		s.Reason, s.SHA256 = hold(c)
		s.Enabled = s.Reason == ""
	}
	return s
}

// pinsOf returns the pins of a plugin directory, or of servers if it is empty; nil: all may run.
func (o *operator) pinsOf(dir string) (pluginrun.Pins, error) {
	o.mu.Lock()
	verified, of := o.trust, o.pins
	o.mu.Unlock()
	var all allPins
	if o.recorder != nil {
		all = append(all, recording{o.recorder, dir == ""})
	}
	if signed := verified.of(dir, &o.signed); signed != nil {
		all = append(all, signed)
	}
	if of == nil {
		of = func() (pluginrun.Pins, error) { return o.lockPins(dir) }
	}
	pins, err := of()
	if err != nil {
		return nil, err
	}
	if pins != nil {
		all = append(all, pins)
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
	return func(o *options) { o.operator.settings = change }
}

// SetPluginSettings replaces what [WithPluginSettings] set. Loaded plugins take it over
// at the next [Host.Sync], or when [Host.Follow] looks next.
func (h *Host) SetPluginSettings(change func(name string, s *plugin.Settings)) {
	h.operator.mu.Lock()
	defer h.operator.mu.Unlock()
	h.operator.settings = change
}

// WithHold disables plugins for a reason that depends on their files: it is asked when one
// is found. An empty reason: it may run, with this content of its file ([plugin.Settings.SHA256]).
// Default: nil, and all may.
func WithHold(of func(plugin.Candidate) (reason, sha256 string)) Option {
	return func(o *options) { o.operator.hold = of }
}

// SetHold replaces what [WithHold] says, as [Host.SetPluginSettings] does.
func (h *Host) SetHold(of func(plugin.Candidate) (reason, sha256 string)) {
	h.operator.mu.Lock()
	defer h.operator.mu.Unlock()
	h.operator.hold = of
}

// SetLocks replaces the locks, from the next start on. A lock that was required because its
// file was there once is not required any more, unless these require it.
func (h *Host) SetLocks(locks ...Lock) {
	h.operator.mu.Lock()
	defer h.operator.mu.Unlock()
	h.operator.setLocks(locks)
}

// allLocks returns the locks, which never change.
func (o *operator) allLocks() []*lockFile {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locks
}
