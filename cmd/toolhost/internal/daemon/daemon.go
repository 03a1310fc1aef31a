package daemon

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
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
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// daemon is a host that other commands use.
type daemon struct {
	*session.Local
	session  *session.Session
	log      hclog.Logger
	since    time.Time
	options  Options
	sessions *sessions
	queue    *approval.Queue
	claim    *control.Claim // on the socket
	faults   faultList
	held     atomic.Pointer[tool.Error] // content of the configuration file that waits; nil: none
	refused  atomic.Value               // of string: the digest of content that could not be applied; empty: none
	stop     chan struct{}              // closed when a command ends the daemon
	stopOnce sync.Once
	numbers  *metrics.Numbers
	activity *activity.Meter
	finding  sync.Mutex                     // held while a call is looked for on record
	front    atomic.Pointer[front]          // nil: MCP clients do not come in over HTTP
	server   atomic.Pointer[control.Server] // nil until the daemon serves
	ready    chan struct{}                  // closed when the plugins have been started once, and the daemon is in its fleet
	life     context.Context                //nolint:containedctx // of the daemon, which ends with close
	end      context.CancelFunc

	mcp mcpClients
	membership

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

// config is the configuration in effect.
func (d *daemon) config() *config.Config { return d.current.Load().loaded.Config }

// identityNow returns the identity with the directories and the file to which the paths lead
// now: the daemon follows links that are exchanged. Its root stays.
func (e *inEffect) identityNow() control.Identity {
	out := e.identity
	if now, err := e.settings.Identity(); err == nil {
		out.PluginDirs, out.Config = now.PluginDirs, now.Config
	}
	return out
}

var _ control.Daemon = (*daemon)(nil)

// open makes a daemon whose plugins are loaded by load.
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
	d := &daemon{
		session: s, log: logger, since: time.Now(), options: o, stop: make(chan struct{}), ready: make(chan struct{}), activity: activity.New(),
	}
	d.membership = membership{daemon: d, detached: newDetached()}
	d.mcp.daemon, d.mcp.started, d.mcp.ending = d, make(chan struct{}), make(chan struct{})
	d.numbers = metrics.New(d.snapshot, d.toolName)
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	needs := session.Needs{
		Record: true, Audit: o.Audit, Options: append([]host.Option{host.WithAdmission(control.MaxCalls)}, o.Host...),
		Hooks: policy.Hooks{
			Before: d.activity.Begin, After: d.count, Error: d.count, Tools: func(policy.ToolsChange) { d.numbers.ToolsChanged() },
		},
	}
	l, err := s.Prepare(ctx, needs)
	if err != nil {
		return nil, err
	}
	d.Local = l
	l.Mounts.Expect(l.Loaded.Servers)
	d.queue = approval.NewQueue(d.stale)
	d.mcp.askers = setup.Askers{Client: mcpserver.ClientApprover(), Queue: d.queue}
	d.current.Store(&inEffect{t, l.Loaded, identity})
	d.Sees = func(c control.Caller) func(tool.Definition) bool { return d.given(c).Sees }
	d.sessions = newSessions(l.Host, func() config.Sessions { return d.config().Sessions })
	return d, nil
}

// load starts the plugins. MCP clients are served meanwhile.
func (d *daemon) load(ctx context.Context) error {
	l := d.Local
	err := l.Load(ctx, true)
	again := func() {}
	if err == nil && d.mcp.awaited.Load() {
		again = d.mcp.tryAgain(true)
	}
	go func() { // until what is tried again has started, or the daemon ends
		again()
		close(d.mcp.started)
	}()
	if err != nil {
		return err
	}
	d.session.WarnOf(slices.Concat(l.Faults, session.UnmatchedFaults(l.Loaded.Config, l.Host, l.Mounts)), l.Host.Plugins(), "")
	d.faults.add(l.Faults)
	return nil
}

// count counts a call that has ended.
func (d *daemon) count(e policy.Event) {
	d.activity.End(e)
	d.numbers.Call(e)
}

// close ends what open has made.
func (d *daemon) close(ctx context.Context) error {
	d.end()
	var err error
	if s := d.mcp.server.Load(); s != nil {
		err = s.Close()
	}
	return errors.Join(err, d.Close(ctx))
}

func (d *daemon) Stop(ctx context.Context, _ *daemonv1.StopRequest) (*daemonv1.StopResponse, error) {
	_ = control.Record(ctx, d, audit.Record{Action: "stop"}, nil)
	d.stopOnce.Do(func() { close(d.stop) })
	return &daemonv1.StopResponse{DrainMs: d.options.Drain.Milliseconds()}, nil
}

func (d *daemon) Record(r audit.Record, outcome error) {
	if err := d.Local.Record(r, outcome); err != nil {
		d.log.Error("it is not on record", "action", r.Action, "object", r.Object, "error", err)
	}
}

func (d *daemon) Numbers() http.Handler { return d.numbers.Handler(true) }

// toolName returns the name of a tool, which may be called by another; empty: there is none.
func (d *daemon) toolName(name string) string {
	t, _ := d.Host.Get(name)
	return t.Name
}

// Look implements [control.Daemon].
func (d *daemon) Look() *activity.Watch { return d.activity.Watch(d.Host, d.queue.Len) }

// snapshot returns what the metrics show.
func (d *daemon) snapshot() metrics.Snapshot {
	out := metrics.Snapshot{State: d.State()}
	if s := d.server.Load(); s != nil {
		out.Asking = s.Asking()
	}
	if f := d.front.Load(); f != nil {
		out.MCPRequests, out.MCPCallers = f.http.Load()
	}
	written := &d.session.Written
	out.Lines, out.Failed, out.Waiting = written.Lines.Load(), written.Failed.Load(), written.Waiting.Load()
	if last := written.Last.Load(); last != 0 {
		out.LastLine = time.UnixMilli(last)
	}
	out.Callers, out.Traces = d.activity.Loads(), d.Telemetry.Counts()
	out.Sessions, out.Dropped = d.sessions.count(), d.Host.Status().DroppedEvents
	return out
}

func (d *daemon) State() control.State {
	h, now := d.Host, d.current.Load()
	faults := d.faults.current(h)
	starting := !closed(d.ready)
	if !starting { // or the tools that are not there yet would be missed
		faults = append(faults, session.UnmatchedFaults(now.settings.Config, h, d.Mounts)...)
	}
	if held := d.held.Load(); held != nil {
		faults = append(faults, held)
	}
	if lost := d.Telemetry.Fault(); lost != nil {
		faults = append(faults, lost)
	}
	unapplied, _ := d.refused.Load().(string)
	out := d.Own.State()
	out.Since, out.Identity, out.Configured, out.Unapplied = d.since, now.identityNow(), now.settings.Configured(), unapplied
	out.Starting, out.Audit, out.Fleet, out.Faults = starting, d.Audit, d.fleetState(), control.SentFaults(faults)
	return out
}

func (d *daemon) ListTools(ctx context.Context, r *daemonv1.ListToolsRequest) (*daemonv1.ListToolsResponse, error) {
	if err := d.awaitTool(ctx, r.GetName()); err != nil {
		return nil, err
	}
	return d.Own.ListTools(ctx, r)
}

// awaitTool waits until a tool is there or the daemon is ready; empty: until all are there.
func (d *daemon) awaitTool(ctx context.Context, name string) error {
	if closed(d.ready) {
		return nil
	}
	watching := d.Host.Session()
	defer watching.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it cannot fail
	for changes := watching.Changes(); ; {
		if _, there := d.Host.Get(name); there {
			return nil
		}
		select {
		case <-changes:
		case <-d.ready:
			return nil
		case <-d.mcp.ending:
			return errEnding
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (d *daemon) Run(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	name := c.Name
	if c.Detach || c.On != "" { // which takes a fleet
		name = ""
	}
	if err := d.awaitTool(ctx, name); err != nil {
		return d.unanswered(by, c, err)
	}
	if c.Detach {
		return d.detach(ctx, by, c, asked)
	}
	return d.call(ctx, by, c, asked)
}

// unanswered answers a call that does not come to the host, and counts it.
func (d *daemon) unanswered(by control.Caller, c control.Call, err error) control.Answer {
	d.numbers.Call(policy.Event{Call: tool.Call{Name: c.Name}, Safety: tool.Safe, Caller: by.Name, Err: err})
	return control.Answer{Outcome: host.Outcome{Name: c.Name}}.Failed(err)
}

func (d *daemon) call(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	may, can := d.allowance(by), setup.Askers{Client: asked, Queue: d.queue}
	ctx = fleet.WithSubmission(ctx, "", c.Told)
	if c.On != "" {
		if err := d.checkPlace(c.Name, c.On); err != nil {
			return d.unanswered(by, c, err)
		}
		ctx = fleet.On(ctx, c.On)
	}
	if c.Session == "" {
		return session.CallAs(ctx, d.Host, c, may, can)
	}
	one, begun, leave, err := d.sessions.join(may.Caller, c.Session)
	if err != nil {
		return d.unanswered(by, c, err)
	}
	defer leave()
	answer := session.CallIn(ctx, d.Host, one, c, may, can)
	answer.Begun = begun
	return answer
}

func (d *daemon) RestartPlugin(ctx context.Context, r *daemonv1.RestartPluginRequest) (*daemonv1.RestartPluginResponse, error) {
	out, err := d.Own.RestartPlugin(ctx, r)
	d.faults.replace(ofPlugin(r.GetName()), err)
	return out, control.Record(ctx, d, audit.Record{Action: "plugins restart", Object: r.GetName()}, err)
}

// The command that sends it puts it on record, as it does ApplyPlugin and
// Refresh.
func (d *daemon) RollbackPlugin(ctx context.Context, r *daemonv1.RollbackPluginRequest) (*daemonv1.RollbackPluginResponse, error) {
	out, err := d.Own.RollbackPlugin(ctx, r)
	if err == nil {
		d.faults.replace(ofPlugin(r.GetName()), nil)
	}
	return out, err
}

func (d *daemon) ApplyPlugin(ctx context.Context, r *daemonv1.ApplyPluginRequest) (*daemonv1.ApplyPluginResponse, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	err := d.applyPlugin(ctx, r.GetName())
	d.faults.replace(ofPlugin(r.GetName()), err)
	return &daemonv1.ApplyPluginResponse{}, err
}

func (d *daemon) applyPlugin(ctx context.Context, name string) error {
	now := d.current.Load()
	loaded, err := now.settings.Load()
	if err != nil {
		return err
	}
	if err := d.Host.Reconfigure(host.WithPluginSettings(loaded.Plugins.Apply), host.WithDisabled(loaded.Hold),
		host.WithOverrides(now.settings.Config.Overrides())); err != nil { // levels may be accepted
		return err
	}
	d.current.Store(&inEffect{now.settings, loaded, now.identity})
	defer d.queue.Revise()
	if _, ok := loaded.Servers.Get(name); ok {
		return d.Mounts.Sync(ctx, loaded.Servers)
	}
	return d.Host.SyncPlugin(ctx, name, now.settings.Dirs.Watched()...)
}

func (d *daemon) Refresh(ctx context.Context, _ *daemonv1.RefreshRequest) (*daemonv1.RefreshResponse, error) {
	return &daemonv1.RefreshResponse{}, d.reload(ctx, session.ByCommand)
}

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
	d.log.Info("reload has ended", "tools", d.Host.Len())
	return err
}
