package host

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// WithPluginSettings sets what the operator decides for single plugins. When a plugin is
// found, change is called with its name and the settings of all plugins, which are
// [plugin.DefaultSettings] with the other options of this host. Default: no change.
func WithPluginSettings(change func(name string, s *plugin.Settings)) Option {
	return func(o *options) { o.settings = change }
}

// WithIdleTimeout is after how long the process of a plugin that nobody uses is ended.
// Default: never.
func WithIdleTimeout(d time.Duration) Option {
	return func(o *options) { o.defaults.IdleTimeout = d }
}

// SetPluginSettings replaces what [WithPluginSettings] set. Loaded plugins take it over
// at the next [Host.Sync], or when [Host.Follow] looks next.
func (h *Host) SetPluginSettings(change func(name string, s *plugin.Settings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opts.settings = change
}

// WithHold disables plugins for a reason that hangs on their files: it is asked when one
// is found. Empty: it may run. Default: nil, and all may.
func WithHold(of func(plugin.Candidate) (reason string)) Option {
	return func(o *options) { o.hold = of }
}

// SetHold replaces what [WithHold] says, as [Host.SetPluginSettings] does.
func (h *Host) SetHold(of func(plugin.Candidate) (reason string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opts.hold = of
}

func (h *Host) settingsOf(c plugin.Candidate) plugin.Settings {
	h.mu.Lock()
	change, hold := h.opts.settings, h.opts.hold
	h.mu.Unlock()
	s := h.opts.defaults
	if change != nil {
		change(c.Name, &s)
	}
	if hold != nil && s.Enabled {
		s.Reason = hold(c)
		s.Enabled = s.Reason == ""
	}
	return s
}

// config returns how a plugin is run.
func (h *Host) config(of plugin.Candidate, s plugin.Settings, changed func()) plugin.Config {
	s.Env = slices.Concat(h.opts.pluginEnv, s.Env)
	return plugin.Config{
		Settings: s, Root: h.opts.root, Sockets: func() (string, error) { return h.sockets(of.Name) },
		HostVersion: Version, Logger: h.opts.logger, Changed: changed,
		Pins:      func() (plugin.Pins, error) { return h.pins(filepath.Dir(of.Path)) },
		Protected: h.Protected,
	}
}
