package daemon

import (
	"context"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/metrics"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// daemon is a host that other commands use.
type daemon struct {
	session  *session.Session
	local    *session.Local
	log      hclog.Logger
	since    time.Time
	options  Options
	sessions *sessions
	queue    *approval.Queue
	askers   setup.Askers   // of MCP clients
	claim    *control.Claim // on the socket
	faults   faultList
	held     atomic.Pointer[tool.Error] // content of the configuration file that waits; nil: none
	refused  atomic.Value               // of string: the digest of content that could not be applied; empty: none
	stop     chan struct{}              // closed when a command ends the daemon
	stopOnce sync.Once
	numbers  *metrics.Numbers
	server   atomic.Pointer[control.Server] // nil until the daemon serves
	mcp      atomic.Pointer[mcpServer]      // nil: there are no MCP clients

	fleet    atomic.Pointer[member] // nil: the daemon is in none
	detached *detached

	lastSession atomic.Pointer[lastSession]

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
	t.Dirs.MakeInstalled()
	identity, err := t.Identity()
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	logger, err := s.Logger()
	if err != nil {
		return nil, err
	}
	d := &daemon{session: s, log: logger, since: time.Now(), options: o, stop: make(chan struct{}), detached: newDetached()}
	needs := session.Needs{Record: true, Audit: o.Audit, Options: append([]host.Option{host.WithAdmission(control.MaxCalls)}, o.Host...)}
	if o.HTTP || o.Caller != "" || o.Fleet.over(t.Config.NATS).Joins() {
		needs.Options = append(needs.Options, host.WithHooks(policy.Hooks{After: d.count, Error: d.count}))
	}
	l, err := s.OpenLocal(ctx, needs)
	if err != nil {
		return nil, err
	}
	s.WarnOf(slices.Concat(l.Faults(), l.Unmatched()), l.Plugins(), "")
	d.local = l
	d.queue = approval.NewQueue(d.stale)
	d.askers = setup.Askers{Client: mcpserver.ClientApprover(), Queue: d.queue}
	d.numbers = metrics.New(d.snapshot)
	d.faults.all = l.Faults()
	d.current.Store(&inEffect{t, l.Loaded, identity})
	d.sessions = newSessions(l.Host, func() config.Sessions { return d.current.Load().loaded.Config.Sessions })
	return d, nil
}

// Stop implements [control.Service].
func (d *daemon) Stop() time.Duration {
	d.stopOnce.Do(func() { close(d.stop) })
	return d.options.Drain
}

// Journal implements [control.Service].
func (d *daemon) Journal(name string) *pluginrun.Journal { return d.local.Host.Journal(name) }

// Record implements [control.Service].
func (d *daemon) Record(r audit.Record, outcome error) {
	if err := d.local.Record(r, outcome); err != nil {
		d.log.Error("it is not on record", "action", r.Action, "object", r.Object, "error", err)
	}
}

// Numbers implements [control.Service].
func (d *daemon) Numbers() http.Handler { return d.numbers.Handler(true) }

// snapshot returns what the metrics show.
func (d *daemon) snapshot() metrics.Snapshot {
	out := metrics.Snapshot{State: d.State()}
	if s := d.server.Load(); s != nil {
		out.Asking = s.Asking()
	}
	return out
}

// State implements [control.Service].
func (d *daemon) State() control.State {
	h, now := d.local.Host, d.current.Load()
	faults := d.faults.current(h)
	faults = append(faults, session.UnmatchedFaults(now.settings.Config, h)...)
	if held := d.held.Load(); held != nil {
		faults = append(faults, held)
	}
	unapplied, _ := d.refused.Load().(string)
	load, status := h.Admission(), h.Status()
	return control.State{
		Version: host.Version, Revision: control.Revision(), PID: os.Getpid(), Since: d.since, Calls: load.Calls, Refused: load.Refused,
		Identity: now.identityNow(), Configured: now.settings.Configured(), Unapplied: unapplied, Audit: d.local.Audit,
		Tools: h.Len(), Plugins: h.Plugins(), Skipped: status.Skipped, Leaving: status.Draining,
		Fleet: d.fleetState(), Faults: control.SentFaults(faults),
	}
}

// Tools implements [control.Service].
func (d *daemon) Tools(c control.Caller, f host.Filter) []host.Tool {
	return d.given(c).Visible(d.local.Host.Tools(f))
}

// Get implements [control.Service].
func (d *daemon) Get(c control.Caller, name string) (host.Tool, bool) {
	t, ok := d.local.Host.Get(name)
	return t, ok && d.given(c).Sees(t.Definition)
}

// Call implements [control.Service].
func (d *daemon) Call(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	if c.Detach {
		return d.detach(ctx, by, c, asked)
	}
	return d.counted(ctx, by, c, asked)
}

func (d *daemon) counted(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	began := time.Now()
	answer := d.call(ctx, by, c, asked)
	d.countCall(c.Name, answer.Result, answer.Err, time.Since(began))
	return answer
}

func (d *daemon) countCall(name string, r tool.Result, err error, took time.Duration) {
	t, _ := d.local.Host.Get(name)
	code := tool.CodeOf(err)
	if code == "" && r.IsError {
		code = tool.CodeToolFailed
	}
	d.numbers.Call(t.Name, code, took)
}

func (d *daemon) call(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	may, can := d.allowance(by), setup.Askers{Client: asked, Queue: d.queue}
	ctx = fleet.WithSubmission(ctx, fleet.Submission{Told: c.Told})
	if c.On != "" {
		if err := d.checkPlace(c.Name, c.On); err != nil {
			return control.Answer{Outcome: host.Outcome{Name: c.Name}}.Failed(err)
		}
		ctx = fleet.On(ctx, c.On)
	}
	if c.Session == "" {
		return session.CallAs(ctx, d.local.Host, c, may, can)
	}
	one, begun, leave, err := d.sessions.join(may.Caller, c.Session)
	if err != nil {
		return control.Answer{Outcome: host.Outcome{Name: c.Name}}.Failed(err)
	}
	defer leave()
	answer := session.CallIn(ctx, d.local.Host, one, c, may, can)
	answer.Begun = begun
	return answer
}

// RestartPlugin implements [control.Service].
func (d *daemon) RestartPlugin(ctx context.Context, name string) error {
	err := d.local.Host.RestartPlugin(ctx, name)
	d.faults.replace(ofPlugin(name), err)
	return err
}

// RollbackPlugin implements [control.Service].
func (d *daemon) RollbackPlugin(ctx context.Context, name string) error {
	err := d.local.Host.RollbackPlugin(ctx, name)
	if err == nil {
		d.faults.replace(ofPlugin(name), nil)
	}
	return err
}

// Sandbox implements [control.Service].
func (d *daemon) Sandbox(name string) (plugin.SandboxStatus, bool) { return d.local.Host.Sandbox(name) }

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
	if err := d.local.Host.Reconfigure(host.WithPluginSettings(loaded.Plugins.Apply), host.WithDisabled(loaded.Hold),
		host.WithOverrides(now.settings.Config.Overrides())); err != nil { // levels may be accepted
		return err
	}
	d.current.Store(&inEffect{now.settings, loaded, now.identity})
	defer d.queue.Revise()
	if _, ok := loaded.Servers.Get(name); ok {
		return d.local.Mounts.Sync(ctx, loaded.Servers)
	}
	return d.local.Host.SyncPlugin(ctx, name, now.settings.Dirs.Watched()...)
}

// Refresh implements [control.Service].
func (d *daemon) Refresh(ctx context.Context) error { return d.reload(ctx, session.ByCommand) }

// reload reloads the configuration and the plugins, and logs what went wrong.
func (d *daemon) reload(ctx context.Context, why session.Reading) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	defer notifyReloading()()
	err := d.reloadAll(ctx, why)
	d.queue.Revise()
	d.numbers.Reload(err)
	d.faults.replace(func(known *tool.Error) bool { return known.Plugin == "" }, err)
	for _, fault := range session.Faults(err) {
		d.log.Warn("reload", "fault", fault)
	}
	d.log.Info("reload has ended", "tools", d.local.Host.Len())
	return err
}
