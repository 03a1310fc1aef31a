package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

func newPluginsRestartCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "End a plugin's process in the daemon, so that the next call starts it again",
		Long: `End a plugin's process in the daemon when its calls have ended, and forget its
failures: a quarantined plugin is tried again.

This needs a daemon: the plugins of any other command end with the command.`,
		Args:              oneName("plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return restartPlugin(cmd.Context(), s, args[0]) },
	}
}

func restartPlugin(ctx context.Context, s *session.Session, name string) error {
	if _, err := s.Logger(); err != nil {
		return err
	}
	d := s.Daemon(ctx, session.Needs{})
	if d == nil {
		return exit.Usage("there is no daemon here to restart plugins in",
			"run toolhost serve; the plugins of any other command end with the command")
	}
	if _, ok := session.Status(d.Plugins(), name); !ok {
		return unknownPlugin(d, name)
	}
	if err := d.RestartPlugin(ctx, name); err != nil {
		return err
	}
	if s.Flags.JSON {
		return s.Out.JSON(map[string]any{"restarted": name})
	}
	s.Out.Printf("restarted %s\n", name)
	return nil
}
