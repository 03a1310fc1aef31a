package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/plugin"
)

func (a *app) pluginsDisableCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "disable NAME",
		Short: "Switch a plugin off: it has no tools, and is not run",
		Long: `Switch a plugin off, here and in the daemon, until toolhost plugins enable. Calls under
way may end. Its file stays where it is, and so does the configuration file: enabled:
false there does the same, and cannot be undone from here.`,
		Args:              oneName("plugin"),
		ValidArgsFunction: a.completeArgument(pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.switchPlugin(cmd.Context(), args[0], true) },
	}
}

func (a *app) pluginsEnableCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "enable NAME",
		Short: "Switch a plugin on that was disabled, is new, or is held",
		Long: `Switch a plugin on that toolhost plugins disable has switched off, here and in the
daemon, and let the daemon run its file as it is now: what is new or has changed inside
the workspace is held until then. Where hold_new is set in the configuration, a plugin
that is new in its directory runs from then on.`,
		Args:              oneName("plugin"),
		ValidArgsFunction: a.completeArgument(pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.switchPlugin(cmd.Context(), args[0], false) },
	}
}

func (a *app) switchPlugin(ctx context.Context, name string, off bool) error {
	var status plugin.Status
	err := a.withHost(ctx, needs{}, func(h *opened) error {
		s, ok := statusOf(h.Plugins(), name)
		if !ok {
			return h.unknownPlugin(name)
		}
		status = s
		return nil
	})
	if err != nil {
		return err
	}
	dir, err := canonical(filepath.Dir(status.Path))
	if err != nil {
		return err
	}
	changed, err := setName(disabledFile, dir, name, off)
	if err == nil && !off {
		_, err = setName(enabledFile, dir, name, true)
		changed = changed || status.Reason != "" && status.State == plugin.Disabled // it was held
	}
	if err != nil {
		return fmt.Errorf("plugin %s stays as it is: %w", name, err)
	}
	if !off && !changed && status.State == plugin.Disabled {
		return usage(fmt.Sprintf("plugin %s is disabled by the configuration file", name), "set plugins: "+name+": enabled: true there")
	}
	held := !off && status.Held != ""
	if changed || held {
		if err := a.syncInDaemon(ctx, name); err != nil {
			return err
		}
	}
	word := map[bool]string{true: "disabled", false: "enabled"}[off]
	if a.json {
		return a.out.json(map[string]any{word: name, "changed": changed || held})
	}
	a.out.printf("%s %s\n", word, name)
	return nil
}

// syncInDaemon has a daemon take over what was said of a plugin, and its file.
func (a *app) syncInDaemon(ctx context.Context, name string) error {
	r, ok := a.daemon(ctx, a.namedDirs(), needs{})
	if !ok {
		return nil
	}
	return r.ApplyPlugin(ctx, name)
}
