package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/toggle"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newPluginsDisableCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "disable NAME",
		Short: "Disable a plugin: it has no tools and does not run",
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
		Use:   "enable NAME",
		Short: "Enable a plugin that is disabled, new, or held, or wants more than was accepted",
		Long: `Enable a plugin that toolhost plugins disable has disabled, here and in the daemon, and
let the daemon run its file as it is now: a file inside the workspace that is new or has
changed is held until then. If the configuration sets hold_new, a plugin that is new in
its directory runs from then on.

A plugin that declares larger needs than those that were accepted runs without them; enable
lets it have what it declares now, which toolhost plugins show NAME shows. Running calls may
end.`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return enablePlugin(cmd.Context(), s, args[0])
		},
	}
}

func disablePlugin(ctx context.Context, s *session.Session, name string) error {
	_, dir, err := findPlugin(ctx, s, name)
	if err != nil {
		return err
	}
	changed, err := toggle.Set(toggle.Disabled, dir, name, true)
	if err != nil {
		return unchanged(name, err)
	}
	return applySwitch(ctx, s, name, "disabled", changed, nil)
}

func enablePlugin(ctx context.Context, s *session.Session, name string) error {
	status, dir, err := findPlugin(ctx, s, name)
	if err != nil {
		return err
	}
	changed, err := toggle.Set(toggle.Disabled, dir, name, false)
	if err == nil {
		_, err = toggle.Set(toggle.Enabled, dir, name, true)
	}
	disabled := status.State == plugin.Disabled
	if err == nil && status.Kind == "" && (status.Held != "" || disabled) {
		err = s.Settings().TrustPlugin(plugin.Candidate{Name: name, Path: status.Path})
	}
	if err != nil {
		return unchanged(name, err)
	}
	changed = changed || disabled && status.Reason != "" // it was held as new
	if status.WantsMore != nil {
		if err := acceptNeeds([]plugin.Status{status}); err != nil {
			return unchanged(name, err)
		}
		changed = true
	}
	if !changed && disabled {
		if status.Kind == plugin.KindMCP {
			return exit.Usage(fmt.Sprintf("the MCP server %s is disabled by %s", name, dir), "enable it there")
		}
		return exit.Usage(fmt.Sprintf("plugin %s is disabled by the configuration file", name),
			"set plugins: "+name+": enabled: true there")
	}
	return applySwitch(ctx, s, name, "enabled", changed || status.Held != "", status.WantsMore)
}

// findPlugin returns the status of a plugin and its directory; of an MCP server the file that has
// it.
func findPlugin(ctx context.Context, s *session.Session, name string) (status plugin.Status, dir string, err error) {
	err = s.Use(ctx, session.Needs{}, func(b session.Backend) error {
		var ok bool
		if status, ok = session.Status(b.Plugins(), name); !ok {
			return unknownPlugin(b, name)
		}
		return nil
	})
	if err == nil && status.Kind == plugin.KindMCP {
		dir, err = fileOf(s, name)
	} else if err == nil {
		dir, err = paths.Canonical(filepath.Dir(status.Path))
	}
	return status, dir, err
}

// fileOf returns the file that has an MCP server.
func fileOf(s *session.Session, name string) (string, error) {
	set, err := s.Settings().Servers()
	if err != nil {
		return "", err
	}
	one, ok := set.Get(name)
	if !ok {
		return "", exit.Usage(fmt.Sprintf("no file here has the MCP server %s, which the daemon has", name), "toolhost reload")
	}
	return paths.Canonical(one.File)
}

func unchanged(name string, err error) error {
	return fmt.Errorf("plugin %s stays as it is: %w", name, err)
}

// applySwitch makes a daemon apply a change, and prints it, with the needs that were accepted; nil:
// none were.
func applySwitch(
	ctx context.Context, s *session.Session, name, done string, changed bool, more *plugin.WantsMore,
) error {
	if changed {
		if d := s.Daemon(ctx, session.Needs{}); d != nil {
			if err := d.ApplyPlugin(ctx, name); err != nil {
				return err
			}
		}
	}
	if s.Flags.JSON {
		out := map[string]any{done: name, "changed": changed}
		if more != nil {
			out["accepted"] = more.Changes
		}
		return s.Out.JSON(out)
	}
	if more != nil {
		s.Out.Printf("accepted for %s: %s\n", name, sanitize.Text(more.Text))
	}
	s.Out.Printf("%s %s\n", done, name)
	return nil
}
