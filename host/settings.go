package host

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// limits are those of the host's options.
func (o *options) limits() plugin.Limits {
	return plugin.Limits{
		CallTimeout: o.callTimeout, MaxTimeout: o.maxTimeout, Running: o.running, Waiting: o.waiting, MaxResult: o.maxResult, MaxRetries: o.maxRetries,
	}
}

// WithPluginSettings has the operator's word on plugins, by name. It is asked when a
// plugin is found. Default: every plugin has the zero value.
func WithPluginSettings(of func(name string) plugin.Settings) Option {
	return func(o *options) { o.settings = of }
}

// WithIdleTimeout is after how long the process of a plugin that nobody uses is ended.
// Default: never.
func WithIdleTimeout(d time.Duration) Option { return func(o *options) { o.idle = d } }

// SetPluginSettings replaces the operator's word on plugins. It holds for those that
// are there from the next [Host.Sync], or look of [Host.Follow], on.
func (h *Host) SetPluginSettings(of func(name string) plugin.Settings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opts.settings = of
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
	of, hold := h.opts.settings, h.opts.hold
	h.mu.Unlock()
	var s plugin.Settings
	if of != nil {
		s = of(c.Name)
	}
	if hold != nil && !s.Disabled {
		s.Reason = hold(c)
		s.Disabled = s.Reason != ""
	}
	return s
}

// config is how a plugin is run by the host's options and the operator's settings.
func (h *Host) config(of plugin.Candidate, s plugin.Settings, changed func()) plugin.Config {
	c := plugin.Config{
		Root: h.opts.root, Sockets: func() (string, error) { return h.sockets(of.Name) }, Args: s.Args, Env: slices.Concat(h.opts.pluginEnv, s.Env),
		JSON: s.Config, StartTimeout: h.opts.startTimeout, IdleTimeout: h.opts.idle, Restart: h.opts.restart, Carrier: h.opts.carrier,
		Namespace: h.opts.namespace, HostVersion: Version, Logger: h.opts.logger, Changed: changed,
		Pins:      func() (plugin.Pins, error) { return h.pins(filepath.Dir(of.Path)) },
		Protected: h.Protected,
	}
	if s.Carrier != "" {
		c.Carrier = s.Carrier
	}
	if s.Namespace != "" {
		c.Namespace = s.Namespace
	}
	if s.StartTimeout > 0 {
		c.StartTimeout = s.StartTimeout
	}
	if s.IdleTimeout != 0 {
		c.IdleTimeout = max(s.IdleTimeout, 0)
	}
	if s.Restart != nil {
		c.Restart = *s.Restart
	}
	return c
}
