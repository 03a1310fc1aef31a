package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// reloadAll applies the configuration file, all of it or nothing, and then brings the plugins in
// line with the directories. Without an operator's word, plugins whose files changed inside the
// workspace stay as they are.
func (d *daemon) reloadAll(ctx context.Context, why session.Reading) error {
	if waiting := d.Host.Status().Waiting; why == session.ByOperator && len(waiting) > 0 {
		return notReloaded(session.Held(waiting[0].File))
	}
	before := d.current.Load()
	after, err := d.prepare(ctx, before, why)
	if err == nil {
		err = d.apply(after, why)
	}
	if err != nil {
		return notReloaded(err)
	}
	if why == session.ByOperator {
		err = after.settings.TrustPlugins()
	}
	sync := d.Host.Sync
	if why == session.ByChange {
		sync = d.Host.Refresh
	}
	err = errors.Join(err, sync(ctx, after.settings.Dirs.Watched()...), d.Mounts.Sync(ctx, after.loaded.Servers))
	changes, file := setup.Changes(before.loaded, after.loaded), after.settings.Config.File
	switch {
	case len(changes) > 0:
		d.session.Notef("reloaded: %s", strings.Join(changes, "; "))
	case file != "":
		d.session.Notef("reloaded: nothing has changed in %s", file)
	}
	return err
}

// prepare reads the configuration file and checks that all of it can be applied. It changes
// nothing.
func (d *daemon) prepare(ctx context.Context, before *inEffect, why session.Reading) (*inEffect, error) {
	c, err := d.session.ReadConfig(why, before.settings)
	if err != nil {
		return nil, err
	}
	if old := before.settings.Config.File; c.File == "" && old != "" {
		return nil, fmt.Errorf("%s is gone", old)
	}
	d.refused.Store(c.Digest()) // until it is in effect: commands stay with the daemon
	if err := d.checkFixed(before.settings.Config, c); err != nil {
		return nil, err
	}
	if err := d.checkFleet(c); err != nil {
		return nil, err
	}
	after := &inEffect{settings: before.settings.With(c)}
	if why == session.ByOperator { // tools may have written the files of --mcp-config
		after.settings = after.settings.Reread()
	}
	if after.loaded, err = after.settings.Load(); err != nil {
		return nil, err
	}
	if err := d.rehearse(ctx, before, after, why); err != nil {
		return nil, err
	}
	after.identity, err = after.settings.Identity()
	return after, err
}

// apply puts new settings into effect, all of them or none.
func (d *daemon) apply(after *inEffect, why session.Reading) error {
	c, h := after.settings.Config, d.Host
	rules, err := d.session.LockRules(after.settings)
	if err != nil {
		return err
	}
	if err := h.Reconfigure(host.WithOverrides(c.Overrides()), host.WithPluginSettings(after.loaded.Plugins.Apply),
		host.WithDisabled(after.loaded.Hold), host.WithLocks(rules.Locks...), host.WithTrust(setup.Trust(c))); err != nil {
		return c.Problems([]config.Problem{session.ConfigProblem(c, tool.AsError(err))})
	}
	// From here on nothing fails.
	d.refused.Store("")
	d.session.SetLogLevel(after.settings.LogLevel)
	if d.current.Swap(after).identity.ConfigDigest != after.identity.ConfigDigest {
		d.held.Store(nil) // what waited is in effect, or was exchanged
	}
	d.share()
	d.reconfigureFleet()
	if mcp := d.mcp.server.Load(); mcp != nil {
		mcp.Refresh()
	}
	if why == session.ByOperator && c.File != "" {
		if ok, err := d.session.Counts(session.ByChange, c.Digest(), after.settings.Root, after.settings); err == nil && !ok {
			d.session.Trust(c.File, c.Digest()) // for the commands that find the file
		}
	}
	return nil
}

// checkFixed returns the settings that a running daemon cannot change, unless a flag overrides
// them.
func (d *daemon) checkFixed(before, after *config.Config) error {
	flags := map[string]string{"root": "root", "plugin_dirs": "plugin-dir", "socket": "socket"}
	var problems []config.Problem
	for _, key := range setup.Fixed(before, after) {
		if flag := flags[key]; (flag == "" || !d.session.Flags.Given(flag)) && !d.options.Fleet.given(key) {
			problems = append(problems, after.Problem("a running daemon cannot change it",
				"start the daemon again, or change it back", strings.Split(key, ".")...))
		}
	}
	return after.Problems(problems)
}

// rehearse starts, in a host of its own, the plugins whose new settings need a new process, and
// returns the problems that plugins did not have before. Plugins that are held stay held.
func (d *daemon) rehearse(ctx context.Context, before, after *inEffect, why session.Reading) error {
	affected := map[string]bool{}
	for _, p := range d.Host.Plugins() {
		settings := after.loaded.Plugins(p.Name)
		held := why == session.ByChange && p.Held != ""
		if !held && settings.Enabled && !pluginrun.SameProcess(settings, before.loaded.Plugins(p.Name)) {
			affected[p.Name] = true
		}
	}
	if len(affected) == 0 {
		return nil
	}
	trial := after.loaded
	trial.Plugins = func(name string) plugin.Settings {
		if !affected[name] {
			return plugin.Settings{}
		}
		return after.loaded.Plugins(name)
	}
	l, err := d.session.NewLocal(after.settings, &trial, session.Needs{})
	if err != nil {
		return err
	}
	_, err = l.Host.Load(ctx, after.settings.Dirs.Existing()...)
	known := d.faults.current(d.Host)
	var problems []config.Problem
	for _, fault := range session.Faults(err) {
		old := func(k *tool.Error) bool { return sameSubject(k, fault) }
		if affected[fault.Plugin] && !slices.ContainsFunc(known, old) {
			problems = append(problems, session.ConfigProblem(after.settings.Config, fault))
		}
	}
	err = l.Close(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(after.settings.Config.Problems(problems), err)
}

// notReloaded returns err as one line that says why nothing has changed.
func notReloaded(err error) error {
	const prefix = "the configuration was not reloaded, and nothing has changed: "
	out := tool.Errorf(tool.CodeInvalidArguments, "%s%s", prefix, output.FirstLine(err.Error())).Because(err)
	if tool.CodeOf(err) == tool.CodePermissionDenied {
		held := tool.AsError(err)
		out.Code, out.Message, out.Hint = held.Code, prefix+held.Message, held.Hint
	}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		out.Message = prefix + bad.Problems[0].String()
		if more := len(bad.Problems) - 1 + bad.Omitted; more > 0 {
			out.Message += fmt.Sprintf("; and %d more", more)
		}
		out.Hint = "toolhost config check " + bad.File + " shows what is wrong"
	}
	return out
}
