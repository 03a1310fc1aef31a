package pluginrun

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin is a plugin binary, or a [plugin.Server], as a [tool.Provider]. Its process is started by the
// first call that needs it, and again by the first call after it has ended.
type Plugin struct {
	candidate plugin.Candidate
	kind      string // of a server; empty: it is a binary
	cfg       Config

	command func(Config) *command // that a run starts; nil: there is no program
	prepare func(context.Context, Config, *instance) error

	runs     supervisor
	said     published
	notifier notifier
	next     atomic.Pointer[Plugin]       // takes the calls in place of this one; nil: none
	fault    atomic.Pointer[plugin.Fault] // the last call that failed by the plugin's fault; nil: none
}

var (
	_ tool.Provider  = (*Plugin)(nil)
	_ tool.Notifier  = (*Plugin)(nil)
	_ tool.Previewer = (*Plugin)(nil)
)

// New makes a provider of a plugin binary. Nothing is started yet.
func New(c plugin.Candidate, cfg Config) *Plugin {
	cfg.unasked = true
	p := newPlugin(c, cfg, prepareBinary(c))
	p.command = func(cfg Config) *command { return &newProcess(c, cfg).cmd }
	return p
}

// newPlugin makes a provider whose runs prepare makes.
func newPlugin(c plugin.Candidate, cfg Config, prepare func(context.Context, Config, *instance) error) *Plugin {
	cfg = cfg.withDefaults()
	cfg.denials = newDenials(c.Name, cfg.Logger, cfg.Journal, cfg.Usage)
	p := &Plugin{candidate: c, prepare: prepare}
	cfg.survived, cfg.renew = p.runs.outlast, p.runs.renew
	p.cfg = cfg
	p.notifier = notifier{
		name: c.Name, cfg: cfg, runs: &p.runs, said: &p.said, changes: make(chan struct{}, 1),
	}
	p.runs.name, p.runs.cfg = c.Name, cfg
	p.runs.backoff.policy = restartPolicy(cfg.Restart)
	p.runs.life, p.runs.endLife = context.WithCancel(context.Background())
	p.runs.launch = func(ctx context.Context) (*instance, error) {
		return launch(ctx, p.declared(), prepare, &p.fault, p.notifier.onChanged)
	}
	p.runs.spares.launch, p.runs.spares.stands = p.launchSpare, p.stands
	p.runs.spares.backoff.policy = p.runs.backoff.policy
	if p.runs.backoff.policy.Free < 0 { // no caller waits for a spare
		p.runs.spares.backoff.policy = restartPolicy(plugin.RestartPolicy{})
	}
	p.runs.publish = func(run *instance) bool { return p.said.store(run.about) }
	p.runs.notify = p.notifier.notify
	return p
}

// declared returns how the plugin is run, by what it said of itself last.
func (p *Plugin) declared() Config {
	cfg := p.cfg
	if about := p.said.Load(); about != nil {
		cfg.needs, cfg.modules, cfg.sdk, cfg.unasked = about.Needs, about.Files, about.SDK, false
	}
	return cfg
}

// Sandbox returns what its process may do, and what of that is enforced: as it is in force or, if
// no process runs, as it would be if one was started now. Nothing is started for that. The zero
// value: there is no process, but a server elsewhere.
func (p *Plugin) Sandbox() (s plugin.SandboxStatus) {
	if p.command == nil {
		return s
	}
	cfg := p.declared()
	s = plugin.SandboxStatus{Level: cfg.Sandbox.Level, Undeclared: cfg.effectiveNeeds() == nil, Denied: cfg.denials.list()}
	run := p.runs.current.Load()
	switch s.InForce = run != nil; {
	case s.Level == plugin.NoSandbox:
	case s.InForce:
		s.Lines = run.proc.cmd.plan.Report
	default:
		var err error
		if s.Lines, err = p.command(cfg).foresee(p.runs.group()); err != nil {
			s.Fault = sanitize.Line(err.Error(), 1000)
		}
		s.Less = cfg.less(s.Lines)
	}
	s.Advice = advice(s, p.Name(), p.kind)
	return s
}

// Name returns the plugin's name.
func (p *Plugin) Name() string { return p.candidate.Name }

// List implements [tool.Provider]: it returns the definitions as the plugin claims them,
// and starts the plugin if it was never asked.
//
// # Errors
//
// [tool.CodeUnavailable] if the plugin does not start, with the end of its standard error
// as Detail.
func (p *Plugin) List(ctx context.Context) ([]tool.Definition, error) {
	about, err := p.described(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Definition, len(about.Tools))
	for i, d := range about.Tools {
		out[i] = d.Clone()
	}
	return out, nil
}

// Tools returns the tools as the plugin claims them, and starts the plugin if it was never
// asked. The definitions are shared, and must not be changed.
//
// If the plugin offers previews, every tool has one; that of a tool which has none itself
// answers with [tool.CodeNotFound].
//
// The handlers run a call only as long as the plugin defines their tool as it is defined
// here, because that is the definition by which the call was allowed.
//
// # Errors
//
// Those of [Plugin.List]. Of the handlers: those of [Plugin.Execute], and
// [tool.CodeUnavailable] with [ErrChanged] as cause.
func (p *Plugin) Tools(ctx context.Context) ([]tool.Tool, error) {
	about, err := p.described(ctx)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, call tool.Call) (tool.Result, error) {
		return p.execute(ctx, call, about, (*instance).execute)
	}
	var preview tool.Handler
	if slices.Contains(about.Features, wire.FeaturePreview) {
		preview = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			return p.execute(ctx, call, about, (*instance).preview)
		}
	}
	out := make([]tool.Tool, len(about.Tools))
	for i, d := range about.Tools {
		out[i] = tool.Tool{Definition: d, Handler: run, Preview: preview}
	}
	return out, nil
}

// Execute implements [tool.Provider].
//
// # Errors
//
// Those of [wire.Client.Execute]; [tool.CodeUnavailable] if the plugin does not start;
// [tool.CodeCrashed], with an [*plugin.ExitError] as cause and the end of standard error as
// Detail, if its process ended during the call.
func (p *Plugin) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.execute(ctx, call, nil, (*instance).execute)
}

// Preview implements [tool.Previewer].
//
// # Errors
//
// Those of [Plugin.Execute]; [tool.CodeNotFound] if the tool, or the plugin, has none.
func (p *Plugin) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.execute(ctx, call, nil, (*instance).preview)
}

type runFunc func(*instance, context.Context, tool.Call) (tool.Result, error)

// execute runs a call, or its preview, that was decided by a description; nil: by any.
func (p *Plugin) execute(ctx context.Context, call tool.Call, decided *description, do runFunc) (tool.Result, error) {
	for {
		run, err := p.runs.ready(ctx)
		if next := p.next.Load(); next != nil {
			return next.execute(ctx, call, decided, do)
		}
		if err == nil {
			err = p.said.check(p.Name(), decided, call)
		}
		if err != nil {
			return tool.Result{}, err
		}
		if run.calls.Add() {
			return run.counted(ctx, call, do)
		}
	}
}

// Ready starts the plugin if it is not running, and returns when it takes calls. A call
// does so itself; callers that bound calls can give the start a time of its own.
//
// # Errors
//
// Those of [Plugin.Execute] that say that the plugin does not start.
func (p *Plugin) Ready(ctx context.Context) error {
	_, err := p.runs.ready(ctx)
	if next := p.next.Load(); next != nil {
		return next.Ready(ctx)
	}
	return err
}

// Changes implements [tool.Notifier]: it is sent to after the plugin describes itself
// differently from before, or from what was recalled, unless [Config.Changed] is called.
func (p *Plugin) Changes() <-chan struct{} { return p.notifier.changes }

// Description returns what the plugin said of itself last; false: nothing yet.
func (p *Plugin) Description() (wire.Description, bool) {
	about := p.said.Load()
	if about == nil {
		return wire.Description{}, false
	}
	return about.Description, true
}

// described returns what the plugin said of itself last, and starts it if that is nothing.
func (p *Plugin) described(ctx context.Context) (*description, error) {
	for {
		if about := p.said.Load(); about != nil && !p.runs.isClosed() {
			return about, nil
		}
		if _, err := p.runs.ready(ctx); err != nil {
			return nil, err
		}
	}
}

// Recall sets what the plugin said of itself in an earlier process, so that its tools are
// known before it is started. What it says when it runs is compared with that. Recall does
// nothing if the plugin was asked already.
func (p *Plugin) Recall(about wire.Description) { p.said.recall(about) }

// Environment returns what a process of the plugin is given, NAME=value, without the few
// variables of the handshake.
func (p *Plugin) Environment() []string { return p.cfg.environment() }

// Hold keeps the plugin from being stopped for idleness, because its process holds state
// that is in use, until release is called.
func (p *Plugin) Hold() (release func()) { return p.runs.hold() }

// Latest returns the plugin that takes the calls: this one, or the one that it was handed over to.
func (p *Plugin) Latest() *Plugin {
	for {
		next := p.next.Load()
		if next == nil {
			return p
		}
		p = next
	}
}

// EndSession tells the process, if one runs, that no call of a session comes any more.
func (p *Plugin) EndSession(session string) {
	if run := p.runs.current.Load(); run != nil {
		run.link.endSession(session)
	}
}

// Refuse ends the plugin's run, when its calls have ended, and starts no other until
// [Plugin.Restart]: what the plugin says of itself cannot be used, and why says so. Nil
// takes that back.
func (p *Plugin) Refuse(why error) { p.runs.refuse(why) }

// Restart ends the plugin's run, if there is one, when its calls have ended, within
// [Config.DrainTimeout] and ctx, and forgets its failures. The next call starts it. If the
// plugin was refused, what it said of itself is forgotten too.
func (p *Plugin) Restart(ctx context.Context) error {
	return p.runs.restart(ctx, func() { p.said.Store(nil) })
}

// HandOver passes this plugin's calls on to another, as when its binary was replaced. New
// calls go to the other plugin, which has to be ready by then, so that none fails. Calls
// under way may end first, bounded by ctx alone, and then this plugin is closed. A call that
// was decided by this plugin's definition of a tool runs in the other only if the two
// definitions are the same; see [ErrChanged].
//
// # Errors
//
// Those of [Plugin.Close].
func (p *Plugin) HandOver(ctx context.Context, to *Plugin) error {
	p.next.Store(to)
	return p.close(ctx, ctx)
}

// Close implements [tool.Provider]. Calls under way may end first, within
// [Config.DrainTimeout] and ctx; then the process is asked to end, and ended.
func (p *Plugin) Close(ctx context.Context) error {
	drain, cancel := context.WithTimeout(ctx, p.cfg.DrainTimeout)
	defer cancel()
	return p.close(ctx, drain)
}

func (p *Plugin) close(ctx, drain context.Context) error {
	if p.runs.close(ctx, drain) {
		close(p.notifier.changes)
	}
	return nil
}

// Status returns what the plugin is doing. It changes nothing.
func (p *Plugin) Status() plugin.Status {
	s := plugin.Status{Name: p.Name(), Path: p.candidate.Path, Kind: p.kind, State: plugin.Idle, LastFault: p.fault.Load()}
	if about := p.said.Load(); about != nil {
		s.Version, s.SDK = sanitize.Line(about.Version, 100), sanitize.Line(about.SDK, 100)
		if len(about.ConfigSchema) <= maxShownSchema && json.Valid(about.ConfigSchema) {
			s.ConfigSchema = about.ConfigSchema
		}
		s.Tools, s.Needs, s.Undeclared = len(about.Tools), need.Normal(about.Needs), about.Needs == nil
		s.KeepsSessions = slices.Contains(about.Features, wire.FeatureSessions)
	}
	p.runs.addTo(&s)
	return s
}
