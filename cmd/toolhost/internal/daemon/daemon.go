package daemon

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// daemon is a host that other commands use.
type daemon struct {
	session   *session.Session
	local     *session.Local
	log       hclog.Logger
	since     time.Time
	allowance session.Allowance // of every caller
	faults    faultList

	reloading sync.Mutex // held while current is replaced
	current   atomic.Pointer[inEffect]
}

// inEffect is what a daemon goes by. It never changes: a reload makes another one and puts it in
// its place.
type inEffect struct {
	settings *session.Settings
	loaded   setup.Loaded
	identity control.Identity
}

// identityNow returns the identity with the directories and the file to which the paths lead
// now: the daemon follows links that are exchanged. Its root stays.
func (e *inEffect) identityNow() control.Identity {
	out := e.identity
	if now, err := e.settings.Identity(); err == nil {
		out.PluginDirs, out.Config = now.PluginDirs, now.Config
	}
	return out
}

var _ control.Service = (*daemon)(nil)

// open makes a daemon with its plugins loaded.
func open(ctx context.Context, s *session.Session, o Options) (*daemon, error) {
	t := s.Settings()
	identity, err := t.Identity()
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	logger, err := s.Logger()
	if err != nil {
		return nil, err
	}
	l, err := s.OpenLocal(ctx, session.Needs{Record: true, Audit: o.Audit})
	if err != nil {
		return nil, err
	}
	for _, fault := range l.Faults() {
		s.Warn(fault)
	}
	d := &daemon{
		session: s, local: l, log: logger, since: time.Now(),
		allowance: session.Allowance{Grants: o.Grants, Yes: o.Yes},
	}
	d.faults.all = l.Faults()
	d.current.Store(&inEffect{t, l.Loaded, identity})
	return d, nil
}

// State implements [control.Service].
func (d *daemon) State() control.State {
	h, now := d.local.Host, d.current.Load()
	return control.State{
		Version: host.Version, PID: os.Getpid(), Since: d.since,
		Identity: now.identityNow(), Configured: now.settings.Configured(), Audit: d.local.Audit,
		Tools: h.Len(), Plugins: h.Plugins(), Skipped: h.Skipped(), Leaving: h.Draining(),
		Faults: control.SentFaults(d.faults.current(h)),
	}
}

// Tools implements [control.Service].
func (d *daemon) Tools(f host.Filter) []host.Tool {
	return d.local.Caller().Visible(d.local.Host.Tools(f))
}

// Get implements [control.Service].
func (d *daemon) Get(name string) (host.Tool, bool) {
	t, ok := d.local.Host.Get(name)
	return t, ok && d.local.Caller().Sees(t.Definition)
}

// Call implements [control.Service].
func (d *daemon) Call(ctx context.Context, c control.Call, asked policy.Approver) control.Answer {
	may := d.allowance
	may.Caller = d.local.Caller()
	return session.CallAs(ctx, d.local.Host, c, may, asked)
}

// RestartPlugin implements [control.Service].
func (d *daemon) RestartPlugin(ctx context.Context, name string) error {
	err := d.local.Host.RestartPlugin(ctx, name)
	d.faults.replace(ofPlugin(name), err)
	return err
}

// ApplyPlugin implements [control.Service].
func (d *daemon) ApplyPlugin(ctx context.Context, name string) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	err := d.applyPlugin(ctx, name)
	d.faults.replace(ofPlugin(name), err)
	return err
}

func (d *daemon) applyPlugin(ctx context.Context, name string) error {
	now := d.current.Load()
	loaded, err := now.settings.Load()
	if err != nil {
		return err
	}
	d.local.Host.SetPluginSettings(loaded.Plugins.Apply)
	d.local.Host.SetHold(loaded.Hold)
	d.current.Store(&inEffect{now.settings, loaded, now.identity})
	return d.local.Host.SyncPlugin(ctx, name, now.settings.Dirs.Watched()...)
}

// Reload implements [control.Service].
func (d *daemon) Reload(ctx context.Context) error { return d.reload(ctx, session.ByOperator) }

// reload reloads the configuration and the plugins, and logs what went wrong.
func (d *daemon) reload(ctx context.Context, why session.Reading) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	defer notifyReloading()()
	err := d.reloadAll(ctx, why)
	d.faults.replace(func(known *tool.Error) bool { return known.Plugin == "" }, err)
	for _, fault := range session.Faults(err) {
		d.log.Warn("reload", "fault", fault)
	}
	d.log.Info("reload has ended", "tools", d.local.Host.Len())
	return err
}
