package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutReload = `Have the daemon read its configuration file and the plugin directories again, as
SIGHUP does. This is your word that what is there now is what you want: what has
changed inside the workspace, where tools may have written it, is applied and run, which
a daemon does not do by itself. All that the file says is taken into force, or, if
anything is wrong with it, nothing is, and the exit status is 1.

The daemon is the one on the socket (--socket), whatever its root.`

func (a *app) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Have the daemon take over what has changed",
		Long:  aboutReload,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.reloadDaemon(cmd.Context()) },
	}
}

func (a *app) reloadDaemon(ctx context.Context) error {
	a.quiet = true
	_ = a.configure(true) // only for the socket: a bad file is the daemon's to judge
	path, err := a.socketPath()
	if err != nil {
		return err
	}
	c, err := control.Dial(ctx, path)
	if errors.Is(err, control.ErrNoDaemon) {
		return usage("no daemon is running on "+sanitize.Text(path), "name its socket with --socket, or start one with toolhost serve")
	}
	if err != nil {
		return err
	}
	s := c.State()
	if err := c.Reload(ctx); err != nil {
		return &failure{exitFailed, err}
	}
	if a.json {
		return a.out.json(map[string]any{"reloaded": true, "pid": s.PID, "root": s.Identity.Root})
	}
	a.out.printf("reloaded the daemon (pid %d) of %s\n", s.PID, sanitize.Text(s.Identity.Root))
	return nil
}

// reloader takes what the configuration file says into force in a daemon, and then what
// is in the plugin directories: what an operator asked for, or what has changed and may
// be taken over without.
func (a *app) reloader(d *daemon) func(context.Context, reading) error {
	return func(ctx context.Context, on reading) error {
		dirs := a.namedDirs()
		changes, err := a.reload(ctx, d, dirs, on)
		if err != nil {
			return err
		}
		sync := d.host.Sync
		if on == aChange {
			sync = d.host.Refresh
		}
		err = sync(ctx, dirs.found()...)
		switch c := a.config.loaded.Config; {
		case len(changes) > 0:
			a.notef("reloaded: %s", strings.Join(changes, "; "))
		case c.File != "":
			a.notef("reloaded: nothing has changed in %s", c.File)
		}
		return err
	}
}

// pluginSyncer takes into force what an operator has said of one plugin, and its file
// as it is now.
func (a *app) pluginSyncer(d *daemon) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		next, err := a.resolve(a.config.loaded.Config)
		if err != nil {
			return err
		}
		d.host.SetPluginSettings(next.Plugins.Apply)
		d.host.SetHold(next.Hold)
		a.config.loaded = &next
		return d.host.SyncPlugin(ctx, name, a.namedDirs().found()...)
	}
}

// reload takes the configuration file into force, all of it or nothing, and says what
// has changed. Plugins follow with the host's next look at them.
//
// # Errors
//
// Everything that is wrong with it; then nothing has changed.
func (a *app) reload(ctx context.Context, d *daemon, dirs pluginDirs, on reading) (changes []string, err error) {
	before := *a.config.loaded
	after, err := a.prepare(ctx, d, before, dirs, on)
	if err != nil {
		return nil, notReloaded(err)
	}
	next := *a
	next.config = &configuration{file: after.Config, run: a.config.run, loaded: &after}
	locks, err := next.lockRules()
	if err != nil {
		return nil, notReloaded(err)
	}
	identity, err := next.identity(dirs)
	if err == nil {
		err = placed(after.Config, d.host.SetOverrides(after.Config.Tools))
	}
	if err != nil {
		return nil, notReloaded(err)
	}
	// From here on nothing fails.
	d.host.SetPluginSettings(after.Plugins.Apply)
	d.host.SetHold(after.Hold)
	d.host.SetLocks(locks.locks...)
	d.host.cli.set(next.caller())
	if !a.named("log-level") {
		d.log.SetLevel(hclog.LevelFromString(after.Config.LogLevel))
	}
	d.identify(identity)
	a.config.loaded = &after
	if c := after.Config; on == aReload && c.File != "" {
		if ok, err := a.counts(aChange, c.Digest()); err == nil && !ok {
			a.trustAnew(c.File, c.Digest()) // for the commands that find it
		}
	}
	return setup.Changes(before, after), nil
}

// prepare reads the configuration file, and finds out whether all that it says can be
// done, without changing anything.
func (a *app) prepare(ctx context.Context, d *daemon, before setup.Loaded, dirs pluginDirs, on reading) (setup.Loaded, error) {
	c, err := a.loadConfig(on)
	if err != nil {
		return setup.Loaded{}, err
	}
	if c.File == "" && before.Config.File != "" {
		return setup.Loaded{}, fmt.Errorf("%s is gone", before.Config.File)
	}
	if err := a.unchangeable(before.Config, c); err != nil {
		return setup.Loaded{}, err
	}
	after, err := a.resolve(c)
	if err != nil {
		return setup.Loaded{}, err
	}
	return after, a.rehearse(ctx, d, before, after, dirs, on)
}

// unchangeable says what a running daemon cannot change. Where flags go before the
// file, it does not matter.
func (a *app) unchangeable(before, after *config.Config) error {
	ruled := map[string]bool{
		"root": a.named("root"), "plugin_dirs": a.named("plugin-dir"), "socket": a.named("socket"),
	}
	var problems []config.Problem
	for _, key := range setup.Fixed(before, after) {
		if !ruled[key] {
			problems = append(problems, after.Problem("a running daemon cannot change it", "start the daemon anew, or change it back", strings.Split(key, ".")...))
		}
	}
	return after.Problems(problems)
}

// rehearse starts the plugins that a running process cannot be told the new settings of
// in a host of its own, and says why one of them could not be used: by settings that
// none of its problems is older than. What is held does not run here either.
func (a *app) rehearse(ctx context.Context, d *daemon, before, after setup.Loaded, dirs pluginDirs, on reading) error {
	affected := map[string]bool{}
	for _, p := range d.host.Plugins() {
		settings := after.Plugins(p.Name)
		held := on == aChange && p.Held != ""
		affected[p.Name] = !held && settings.Enabled && !settings.SameProcess(before.Plugins(p.Name))
	}
	return a.try(ctx, after, affected, dirs, d.known())
}

// try loads some plugins in a host of its own, and gives the faults that are not known.
func (a *app) try(ctx context.Context, l setup.Loaded, which map[string]bool, dirs pluginDirs, known []*tool.Error) error {
	some := func(name string) plugin.Settings {
		if !which[name] {
			return plugin.Settings{}
		}
		return l.Plugins(name)
	}
	if !anyOf(which) {
		return nil
	}
	trial := *a
	trial.config = &configuration{file: l.Config, run: a.config.run, loaded: &setup.Loaded{Config: l.Config, Plugins: some, Hold: l.Hold}}
	h, err := trial.makeLocal(needs{})
	if err != nil {
		return err
	}
	_, err = h.Load(ctx, present(dirs.dirs)...)
	var problems []config.Problem
	for _, fault := range flatten(err) {
		was := func(k *tool.Error) bool { return k.Plugin == fault.Plugin && k.Tool == fault.Tool }
		if which[fault.Plugin] && !slices.ContainsFunc(known, was) {
			problems = append(problems, problemOf(l.Config, fault))
		}
	}
	err = h.close(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(l.Config.Problems(problems), err)
}

func anyOf(which map[string]bool) bool {
	for _, yes := range which {
		if yes {
			return true
		}
	}
	return false
}

// placed is what is wrong with one tool or plugin, with the line of the file that says
// something of it.
func placed(c *config.Config, err error) error {
	if err == nil {
		return nil
	}
	return c.Problems([]config.Problem{problemOf(c, tool.AsError(err))})
}

func problemOf(c *config.Config, fault *tool.Error) config.Problem {
	text := message(fault, fault)
	for name, t := range c.Tools {
		if fault.Tool != "" && (t.Name == fault.Tool || t.Name == "" && name == fault.Tool) {
			return c.Problem(text, fault.Hint, "tools", name)
		}
	}
	if fault.Plugin == "" {
		return c.Problem(text, fault.Hint)
	}
	return c.Problem(text, fault.Hint, "plugins", fault.Plugin)
}

// notReloaded is one line that says why all is as it was.
func notReloaded(err error) error {
	out := &tool.Error{Code: tool.CodeInvalidArguments, Err: err, Message: "the configuration was not reloaded, and nothing has changed: " + firstLine(err.Error())}
	var bad *config.Error
	if errors.As(err, &bad) {
		out.Message = "the configuration was not reloaded, and nothing has changed: " + bad.Problems[0].String()
		if more := len(bad.Problems) - 1 + bad.Omitted; more > 0 {
			out.Message += fmt.Sprintf("; and %d more", more)
		}
		out.Hint = "toolhost config check " + bad.File + " shows what is wrong"
	}
	return out
}

// inForce is what commands have to have in common with the daemon.
func (d *daemon) inForce() control.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.identity
}

func (d *daemon) identify(i control.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.identity = i
}
