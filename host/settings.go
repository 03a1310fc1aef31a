package host

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// PluginSettings is what the operator decides for one plugin. The zero value is what
// the host's options say.
type PluginSettings struct {
	// Disabled keeps the plugin from being run. It is listed, and has no tools.
	Disabled bool
	// Reason is why it is disabled, which its status shows. Empty: the operator's word.
	Reason string
	// Args are given to the binary.
	Args []string
	// Env are variables, NAME=value, beside those of [WithPluginEnv].
	Env []string
	// Config is the plugin's own configuration, a JSON object that fits the schema it
	// declares; empty: none.
	Config json.RawMessage
	// Carrier is what calls travel on; empty: that of [WithCarrier].
	Carrier plugin.Carrier
	// Namespace says whether it gets a PID namespace; empty: what [WithNamespace] says.
	Namespace plugin.Namespace
	// StartTimeout bounds a start; 0: that of [WithStartTimeout].
	StartTimeout time.Duration
	// IdleTimeout ends a process that nobody uses for so long, or a quarter longer; the
	// next call starts it again. 0: that of [WithIdleTimeout]; below 0: never.
	IdleTimeout time.Duration
	// Restart says what becomes of it if it fails again and again; nil: what
	// [WithRestartPolicy] says.
	Restart *plugin.RestartPolicy
	// Limits bound its calls; nil: those of the host's options.
	Limits *Limits
	// NoPreviews keeps approvers from asking its tools for previews.
	NoPreviews bool
}

// Limits bound the calls of one plugin's tools. The zero value bounds nothing, and
// repeats nothing.
type Limits struct {
	// CallTimeout bounds one attempt of a tool that names no limit itself; 0: no bound.
	CallTimeout time.Duration
	// MaxTimeout bounds what a tool may claim: a call of one that names a limit takes no
	// longer, over all attempts; 0: no bound. An [Override.Timeout] or CallTimeout that is
	// longer holds.
	MaxTimeout time.Duration
	// Running is how many calls run at a time, 0: any number, and Waiting how many more
	// wait for their turn.
	Running, Waiting int
	// MaxResult bounds a result, in bytes; 0: no bound of the host's own.
	MaxResult int
	// MaxRetries is how often a failed call is repeated at most, whatever its tool asks
	// for.
	MaxRetries int
}

// limits are those of the host's options.
func (o *options) limits() Limits {
	return Limits{
		CallTimeout: o.callTimeout, MaxTimeout: o.maxTimeout, Running: o.running, Waiting: o.waiting, MaxResult: o.maxResult, MaxRetries: o.maxRetries,
	}
}

// WithPluginSettings has the operator's word on plugins, by name. It is asked when a
// plugin is found. Default: every plugin has the zero value.
func WithPluginSettings(of func(name string) PluginSettings) Option {
	return func(o *options) { o.settings = of }
}

// WithIdleTimeout is after how long the process of a plugin that nobody uses is ended.
// Default: never.
func WithIdleTimeout(d time.Duration) Option { return func(o *options) { o.idle = d } }

// SetPluginSettings replaces the operator's word on plugins. It holds for those that
// are there from the next [Host.Sync], or look of [Host.Follow], on.
func (h *Host) SetPluginSettings(of func(name string) PluginSettings) {
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

func (h *Host) settingsOf(c plugin.Candidate) PluginSettings {
	h.mu.Lock()
	of, hold := h.opts.settings, h.opts.hold
	h.mu.Unlock()
	var s PluginSettings
	if of != nil {
		s = of(c.Name)
	}
	if hold != nil && !s.Disabled {
		s.Reason = hold(c)
		s.Disabled = s.Reason != ""
	}
	return s
}

func (s PluginSettings) equal(other PluginSettings) bool { return reflect.DeepEqual(s, other) }

// config is how a plugin is run by the host's options and the operator's settings.
func (h *Host) config(of plugin.Candidate, s PluginSettings, changed func()) plugin.Config {
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
