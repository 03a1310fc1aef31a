package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/telemetry"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/early"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// closeTimeout bounds the shutdown of all plugins: a plugin may take 5 s to drain and 2 s to
// end.
const closeTimeout = 10 * time.Second

// Local is a host of this process, the part of a [control.Service] that commands alone need.
type Local struct {
	control.Own
	// Loaded is the configuration that the host was made with.
	Loaded setup.Loaded
	// Audit is the file in which calls are recorded; empty: they are not.
	Audit string

	// Telemetry sends spans of calls; nil: nothing does.
	Telemetry *telemetry.Exporter

	// Mounts are the MCP servers on the host.
	Mounts *servers.Mounts

	// Dirs are the plugin directories, and Faults say why plugins, tools and they cannot be used.
	Dirs   []string
	Faults []*tool.Error

	apart  bool         // the configuration is about other plugins
	single bool         // the directories are of one plugin
	caller setup.Caller // that uses commands
	queue  policy.Approver
	log    *audit.File // nil: nothing is recorded
	close  func()      // closes what the host writes to
}

// Client returns a client of the host.
func (l *Local) Client() *control.Client { return control.Alone(l, l.Dirs) }

// OpenLocal makes a host and loads the plugins of the directories that can be used. Plugins
// that do not start are faults of the host, not errors.
func (s *Session) OpenLocal(ctx context.Context, n Needs) (*Local, error) {
	l, err := s.Prepare(ctx, n)
	if err != nil {
		return nil, err
	}
	loading := ctx
	if n.Called != "" {
		loading = early.WithCall(ctx)
	}
	if err := l.Load(loading, false); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	return l, nil
}

// Prepare is OpenLocal that leaves it to [Local.Load] to load the plugins.
func (s *Session) Prepare(ctx context.Context, n Needs) (*Local, error) {
	if s.unread.err != nil { // and not what follows from the lack of settings
		return nil, s.unread.err
	}
	t := s.Settings()
	l, err := s.NewLocal(t, nil, n)
	if err != nil {
		return nil, err
	}
	if l.Dirs, err = t.Dirs.usable(l.Loaded.Servers); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	l.single = t.Dirs.Source == pluginFlag
	for _, text := range l.Loaded.Servers.Notes() {
		s.Warn(&tool.Error{Message: text})
	}
	return l, nil
}

// Load loads the plugins and mounts the servers. Those that do not start are faults of the host. Served says that
// it is served meanwhile: what is ready need not wait for the others.
func (l *Local) Load(ctx context.Context, served bool) error {
	var mounted error
	var mounting sync.WaitGroup
	mount := func() { mounted = l.Mounts.Sync(ctx, l.Loaded.Servers) }
	loading := ctx
	if served {
		loading = early.With(ctx, func() { mounting.Go(mount) })
	}
	_, err := l.Host.Load(loading, l.Dirs...)
	if !served {
		mount()
	}
	mounting.Wait()
	l.Faults = Faults(errors.Join(err, mounted))
	if err := l.unusable(ctx); err != nil || !l.single {
		return err
	}
	return l.onlyFault()
}

// NewLocal makes a host without plugins. Loaded is what the configuration refers to; nil to
// read it.
func (s *Session) NewLocal(t *Settings, loaded *setup.Loaded, n Needs) (*Local, error) {
	if s.unread.err != nil {
		return nil, s.unread.err
	}
	if err := t.CheckPlaces(n.Audit); err != nil {
		return nil, err
	}
	logger, err := s.Logger()
	if err != nil {
		return nil, err
	}
	l := &Local{close: func() {}, queue: s.queue(), caller: t.Caller(), apart: t.Dirs.Apart}
	l.Sees = func(control.Caller) func(tool.Definition) bool { return l.caller.Sees }
	var opts []host.Option
	if l.Loaded, opts, err = t.options(loaded); err != nil {
		return nil, err
	}
	if n.Record {
		if l.log, l.Audit, err = s.openAudit(t, n.Audit); err != nil {
			return nil, err
		}
		l.close = func() { s.closeAudit(l.log) }
		opts = append(opts, s.recordIn(l.log, l.Audit)...)
	}
	rules, err := s.LockRules(t)
	if err != nil {
		l.close()
		return nil, err
	}
	if store := store(); store.Path() != "" {
		opts = append(opts, host.WithTrusted(store.Path()))
	}
	opts = append(opts, host.WithLocks(rules.Locks...), host.WithProtected(t.protected(n.Writes)...), host.WithMayWrite(t.mayWrite(n.Audit)))
	if n.Writes != "" { // which is the word for what is there
		hold, err := t.hold(true)
		if err != nil {
			l.close()
			return nil, err
		}
		opts = append(opts, host.WithDisabled(hold))
	}
	if n.Trace != nil {
		l.Loaded.Servers = n.Trace.server(l.Loaded.Servers)
		opts = append(opts, host.WithPluginSettings(n.Trace.settings(l.Loaded.Plugins)))
	}
	if n.Record {
		l.Telemetry = telemetry.New(t.Config.Telemetry, os.LookupEnv, logger.Named("telemetry"))
	}
	if hooks := l.Telemetry.Hooks(n.Hooks); hooks.After != nil || hooks.Span != nil {
		opts = append(opts, host.WithHooks(hooks))
	}
	opts = append(opts, n.Options...)
	if dir := t.CacheDir(); dir != "" && !n.Uncached {
		opts = append(opts, host.WithCache(dir))
	}
	if dir := t.CacheDir(); dir != "" {
		opts = append(opts, host.WithPluginCache(filepath.Join(dir, "plugins")))
	} else if chosen("", t.Config.CacheDir, CacheVariable) == Off {
		opts = append(opts, host.WithPluginCache(""))
	}
	if dir, err := state.Dir(); err == nil && n.Trace == nil && !t.Dirs.Apart {
		opts = append(opts, host.WithState(dir), host.WithRollback(!n.Uncached)) // what is compared with a lock is files
	}
	l.Host, err = host.New(append(opts, host.WithRoot(t.Root), host.WithLogger(logger))...)
	if err != nil {
		l.close()
		return nil, exit.With(exit.BadUsage, err)
	}
	l.Mounts = servers.NewMounts(l.Host)
	return l, nil
}

// LockRules returns the rules for locks under these settings.
//
// # Errors
//
// Those of [pins.Keeper.Rules].
func (s *Session) LockRules(t *Settings) (pins.Rules, error) {
	path, _, err := s.Flags.ConfigPath()
	if err != nil {
		return pins.Rules{}, err
	}
	user, err := t.UserLock()
	if err != nil {
		return pins.Rules{}, exit.With(exit.BadUsage, err)
	}
	rules, err := s.locks.Rules(pins.Source{
		Config: t.Config, ConfigPath: path, Dirs: t.Dirs.Paths, Apart: t.Dirs.Apart, User: user, Installed: t.Dirs.Installed,
		Trusts: trustsContent, Ignored: s.noteUntrusted,
		Unrecorded: func(lock string, err error) {
			if s.log != nil {
				s.log.logger.Warn("only this process remembers that there is a lock: say lock: required in the configuration",
					"lock", lock, "error", err)
			}
		},
	})
	if store().Path() == "" { // nothing lasts here: what this process reads first counts
		for i := range rules.Locks {
			rules.Locks[i].Found = false
		}
	}
	return rules, err
}

// unusable returns the error of a host of which nothing can be used; nil if something can.
func (l *Local) unusable(ctx context.Context) error {
	if ctx.Err() != nil {
		return tool.Errorf(tool.CodeCanceled, "ended before the plugins were ready: %w", context.Cause(ctx))
	}
	// A fault without a plugin is about a directory. If one of several directories cannot be
	// used, the others can.
	i := slices.IndexFunc(l.Faults, func(e *tool.Error) bool { return e.Plugin == "" })
	if i < 0 || len(l.Host.Plugins()) > 0 {
		return nil
	}
	return exit.With(exit.Unavailable, l.Faults[i])
}

// State implements [control.Service].
func (l *Local) State() control.State {
	out := l.Own.State()
	if out.Faults = slices.Clip(l.Faults); !l.apart {
		out.Faults = append(out.Faults, UnmatchedFaults(l.Loaded.Config, l.Host, l.Mounts)...)
	}
	return out
}

// Run implements [control.Service]. Grants and approval are the operator's own.
func (l *Local) Run(ctx context.Context, _ control.Caller, c control.Call, a policy.Approver) control.Answer {
	return CallAs(ctx, l.Host, c, Allowance{All: true, Caller: l.caller}, setup.Askers{Client: a, Terminal: a, Queue: l.queue})
}

// Record puts something on record that is not a call, with its outcome; [Act] says the rest.
func (l *Local) Record(r audit.Record, outcome error) error {
	if l.log == nil {
		return nil
	}
	return l.log.Write(Act(r, outcome))
}

// RecordEnd puts the end of a call on record, whose process did not.
func (l *Local) RecordEnd(r audit.Record) error { return l.log.Write(r) }

// Close ends the plugins. It has time of its own, so that a canceled ctx does not keep the
// plugins from ending in good order.
func (l *Local) Close(ctx context.Context) error {
	defer l.close()
	defer l.Telemetry.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := l.Host.Close(ctx); err != nil {
		return tool.Errorf(tool.CodeInternal, "the plugins could not be shut down in good order: %w", err)
	}
	return nil
}
