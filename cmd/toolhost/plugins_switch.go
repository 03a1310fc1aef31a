package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

func newPluginsDisableCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost plugins disable fs",
		Use:     "disable NAME",
		Short:   "Disable a plugin: it has no tools and does not run",
		Long: `Disable a plugin, here and in the daemon, until toolhost plugins enable. Calls in
progress may end. The plugin's file and the configuration file stay as they are; enabled:
false in the configuration does the same, and only an edit of the file can undo it.`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return disablePlugin(cmd.Context(), s, args[0])
		},
	}
}

func newPluginsEnableCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost plugins enable fs",
		Use:     "enable NAME",
		Short:   "Enable a plugin that is disabled, new, or held, or wants more than was accepted",
		Long: `Enable a plugin that toolhost plugins disable has disabled, here and in the daemon, and
let the daemon run its file as it is now: a file inside the workspace that is new or has
changed is held until then. If the configuration sets hold_new, a plugin that is new in
its directory runs from then on.

A tool that has changed since it was given a level (tools.NAME.safety) is dangerous; enable
shows the difference and gives it the level as it is now.

A plugin that declares larger needs than those that were accepted runs without them; enable
lets it have what it declares now, which toolhost plugins show NAME shows. Running calls may
end. A plugin whose sandbox would enforce less than at its first start does not start; enable
accepts that, line by line as it shows.`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return enablePlugin(cmd.Context(), s, args[0])
		},
	}
}

func disablePlugin(ctx context.Context, s *session.Session, name string) error {
	p, err := findPlugin(ctx, s, name)
	if err != nil {
		return err
	}
	before, err := p.decide(func(one *known.Record) { one.Disabled = true })
	if err != nil {
		return unchanged(name, err)
	}
	return applySwitch(ctx, s, name, "disabled", !before.Disabled, accepted{})
}

func enablePlugin(ctx context.Context, s *session.Session, name string) error {
	p, err := findPlugin(ctx, s, name)
	if err != nil {
		return err
	}
	disabled := p.State == plugin.Disabled
	if p.Kind == "" && (p.Held != "" || disabled) {
		if err := s.Settings().TrustPlugin(plugin.Candidate{Name: name, Path: p.Path}); err != nil {
			return unchanged(name, err)
		}
	}
	before, err := p.decide(func(one *known.Record) { one.Disabled, one.Enabled = false, true })
	if err != nil {
		return unchanged(name, err)
	}
	held := disabled && p.Reason != "" // as new
	changed := before.Disabled || held || p.WantsMore != nil || len(p.less)+len(p.Changed) > 0
	if !changed && disabled {
		if p.Kind == pluginrun.KindMCP {
			return exit.Usage(fmt.Sprintf("the MCP server %s is disabled by %s", name, p.key.Dir), "enable it there")
		}
		return exit.Usage(fmt.Sprintf("plugin %s is disabled by the configuration file", name),
			"set plugins: "+name+": enabled: true there")
	}
	err = applySwitch(ctx, s, name, "enabled", changed || p.Held != "", accepted{p.WantsMore, p.less, p.Changed})
	if err == nil || p.WantsMore == nil {
		return err
	}
	p.WantsMore, p.less, p.Changed = nil, nil, nil // or no later start would succeed either
	_, kept := p.decide(func(one *known.Record) { one.Ran, one.Needs = before.Ran, before.Needs })
	_, _ = apply(ctx, s, name)
	return errors.Join(err, kept)
}

// accepted is what was accepted of a plugin.
type accepted struct {
	more *plugin.WantsMore // nil: it wanted no more
	less []plugin.EnforcesLess
	// changed are the tools that have the levels that they were given as they are now.
	changed []plugin.ChangedTool
}

// texts say what was accepted.
func (p accepted) texts() (out []string) {
	if p.more != nil {
		out = append(out, sanitize.Text(p.more.Text))
	}
	for _, l := range p.less {
		out = append(out, sanitize.Text(l.String()))
	}
	for _, t := range p.changed {
		out = append(out, fmt.Sprintf("%s, which stays %s", sanitize.Text(t.Text), t.Level))
	}
	return out
}

// switched is a plugin that is switched on or off.
type switched struct {
	plugin.Status
	key     known.Plugin // has the switch: the plugin, or a name of the file that has the MCP server
	sandbox known.Plugin // has what is enforced
	less    []plugin.EnforcesLess
}

// decide changes the record of a plugin, and accepts what it wants and what its sandbox does not
// enforce any more, if it is switched on. It returns the record that was there.
func (p switched) decide(change func(*known.Record)) (before known.Record, err error) {
	book, err := known.OpenOwn()
	if err != nil {
		return before, err
	}
	before = book.Of(p.key)
	after := before
	change(&after)
	return before, book.Decide(func(all known.Records) {
		all.Change(p.key, change)
		if after.Disabled {
			return
		}
		if p.WantsMore != nil {
			all.Accept(p.key, p.Needs)
		}
		var lines []string
		for _, l := range p.less {
			lines = append(lines, l.Is.Name)
		}
		all.Loosen(p.sandbox, lines)
		give(all, p.sandbox, p.Changed)
	})
}

// findPlugin finds a plugin or an MCP server.
func findPlugin(ctx context.Context, s *session.Session, name string) (p switched, err error) {
	err = s.Use(ctx, session.Needs{}, func(b *control.Client) error {
		var ok bool
		if p.Status, ok = session.Status(b.State().Plugins, name); !ok {
			return unknownPlugin(b, name)
		}
		sandbox, err := b.Sandbox(ctx, name)
		if sandbox != nil {
			p.less = sandbox.Less
		}
		return err
	})
	if err != nil || p.Kind != pluginrun.KindMCP {
		p.key = known.At(p.Path, name)
		p.sandbox = p.key
		return p, err
	}
	set, err := s.Settings().Servers()
	if err != nil {
		return p, err
	}
	one, ok := set.Get(name)
	if !ok {
		return p, exit.Usage(fmt.Sprintf("no file here has the MCP server %s, which the daemon has", name), "toolhost reload")
	}
	p.key.Name, p.sandbox = name, one.Record()
	p.key.Dir, err = paths.Canonical(one.File)
	return p, err
}

func unchanged(name string, err error) error {
	return fmt.Errorf("plugin %s stays as it is: %w", name, err)
}

// apply makes a daemon, if there is one, apply a change.
func apply(ctx context.Context, s *session.Session, name string) (there bool, err error) {
	d := s.Daemon(ctx)
	if d == nil {
		return false, nil
	}
	_, err = control.Do(ctx, d, daemonv1.DaemonHandler.ApplyPlugin, &daemonv1.ApplyPluginRequest{Name: name})
	return true, err
}

// startOnce starts a plugin in this command, to see whether it may.
func startOnce(ctx context.Context, s *session.Session, name string) error {
	return s.Use(ctx, session.Needs{}, func(b *control.Client) error {
		_, err := control.Do(ctx, b, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: name})
		return err
	})
}

// applySwitch applies a change, and prints it, with what was accepted.
func applySwitch(ctx context.Context, s *session.Session, name, done string, changed bool, p accepted) error {
	if changed {
		there, err := apply(ctx, s, name)
		if !there && p.more != nil {
			err = startOnce(ctx, s, name)
		}
		if err != nil {
			return err
		}
		s.Tell(name, journal.Accepted, strings.Join(append([]string{done + " by the operator"}, p.texts()...), "; accepted: "))
	}
	if s.Flags.JSON {
		out := map[string]any{done: name, "changed": changed}
		if p.more != nil {
			out["accepted"] = p.more.Changes
		}
		if len(p.less) > 0 {
			out["enforces_less"] = p.less
		}
		if len(p.changed) > 0 {
			out["levels"] = p.changed
		}
		return s.Out.JSON(out)
	}
	for _, text := range p.texts() {
		s.Out.Printf("accepted for %s: %s\n", name, text)
	}
	s.Out.Printf("%s %s\n", done, name)
	return nil
}
