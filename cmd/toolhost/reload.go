package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// reloader takes what the configuration file says into force in a daemon, and then what
// is in the plugin directories.
func (a *app) reloader(d *daemon) func(context.Context) error {
	return func(ctx context.Context) error {
		dirs := a.namedDirs()
		changes, err := a.reload(ctx, d, dirs)
		if err != nil {
			return err
		}
		found := dirs.dirs
		if dirs.where == "" {
			found = present(found)
		}
		err = d.host.Sync(ctx, found...)
		switch c := a.config.loaded.Config; {
		case len(changes) > 0:
			a.notef("reloaded: %s", strings.Join(changes, "; "))
		case c.File != "":
			a.notef("reloaded: nothing has changed in %s", c.File)
		}
		return err
	}
}

// reload takes the configuration file into force, all of it or nothing, and says what
// has changed. Plugins follow with the host's next look at them.
//
// # Errors
//
// Everything that is wrong with it; then nothing has changed.
func (a *app) reload(ctx context.Context, d *daemon, dirs pluginDirs) (changes []string, err error) {
	before := *a.config.loaded
	after, err := a.prepare(ctx, d, before, dirs)
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
		err = placed(after.Config, d.host.SetOverrides(setup.Overrides(after.Config)))
	}
	if err != nil {
		return nil, notReloaded(err)
	}
	// From here on nothing fails.
	d.host.SetPluginSettings(after.Plugins)
	d.host.SetHold(after.Hold)
	d.host.SetLocks(locks.locks...)
	d.host.cli.set(next.caller())
	if !a.named("log-level") {
		d.log.SetLevel(hclog.LevelFromString(after.Config.LogLevel))
	}
	d.identify(identity)
	a.config.loaded = &after
	return setup.Changes(before, after), nil
}

// prepare reads the configuration file, and finds out whether all that it says can be
// done, without changing anything.
func (a *app) prepare(ctx context.Context, d *daemon, before setup.Loaded, dirs pluginDirs) (setup.Loaded, error) {
	c, err := a.loadConfig()
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
	return after, a.rehearse(ctx, d, before, after, dirs)
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
// none of its problems is older than.
func (a *app) rehearse(ctx context.Context, d *daemon, before, after setup.Loaded, dirs pluginDirs) error {
	affected := map[string]bool{}
	for _, p := range d.host.Plugins() {
		settings := after.Plugins(p.Name)
		affected[p.Name] = !settings.Disabled && setup.NewProcess(before.Plugins(p.Name), settings)
	}
	return a.try(ctx, after, affected, dirs, d.known())
}

// try loads some plugins in a host of its own, and gives the faults that are not known.
func (a *app) try(ctx context.Context, l setup.Loaded, which map[string]bool, dirs pluginDirs, known []*tool.Error) error {
	some := func(name string) host.PluginSettings {
		if !which[name] {
			return host.PluginSettings{Disabled: true}
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
		if fault.Tool != "" && (t.Rename == fault.Tool || t.Rename == "" && name == fault.Tool) {
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
