package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

func newPluginsRestartCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost plugins restart fs",
		Use:     "restart NAME",
		Short:   "Start a plugin again in the daemon, or try again one that did not start",
		Long: `End a plugin's process in the daemon when its calls have ended, forget its failures, and
start it again: a quarantined plugin is tried again. If it does not start, the command
says why and ends with status 6.

A plugin that did not start is started now, with a daemon or without one, and so is the
file of a plugin that runs on as it was or that was rolled back. Without a daemon, other
plugins cannot be restarted: their processes end with the command that uses them.`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return restartPlugin(cmd.Context(), s, args[0]) },
	}
}

func restartPlugin(ctx context.Context, s *session.Session, name string) error {
	b, err := s.Open(ctx, session.Needs{})
	if err != nil {
		return err
	}
	return errors.Join(restartIn(ctx, s, b, name), b.Close(ctx))
}

func restartIn(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	status, ok := session.Status(b.State().Plugins, name)
	if !ok {
		return unknownPlugin(b, name)
	}
	if b.Alone() && status.State != plugin.Refused && status.Upgrade == "" && status.RolledBack == "" {
		return s.NoDaemon("the plugins of any other command end with the command")
	}
	if _, err := control.Do(ctx, b, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: name}); err != nil {
		return err
	}
	return s.Answer(map[string]any{"restarted": name}, "restarted %s\n", name)
}
