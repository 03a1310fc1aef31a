package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) pluginsRestartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "End a plugin's process in the daemon, so that the next call starts it anew",
		Long: `End a plugin's process in the daemon when its calls have ended, and forget its
failures: one that was given up on is tried again.

It needs a daemon: the plugins of any other command end with it.`,
		Args:              oneName("plugin"),
		ValidArgsFunction: a.completeArgument(pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.restartPlugin(cmd.Context(), args[0]) },
	}
}

func (a *app) restartPlugin(ctx context.Context, name string) error {
	if _, err := a.logger(); err != nil {
		return err
	}
	r, ok := a.daemon(ctx, a.namedDirs(), needs{})
	if !ok {
		return usage("there is no daemon here to restart plugins in", "run toolhost serve; the plugins of any other command end with it")
	}
	h := &opened{backend: r}
	if _, ok := statusOf(h.Plugins(), name); !ok {
		return h.unknownPlugin(name)
	}
	if err := h.RestartPlugin(ctx, name); err != nil {
		return err
	}
	if a.json {
		return a.out.json(map[string]any{"restarted": name})
	}
	a.out.printf("restarted %s\n", name)
	return nil
}
