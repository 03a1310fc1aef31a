package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutReload = `Make the daemon read its configuration file and the plugin directories again, as SIGHUP
does. With this you confirm what is there now: changes inside the workspace, where tools
may have made them, are applied and run, which a daemon does not do without you. The new
configuration is applied as a whole; if any part is invalid, nothing changes and the exit
status is 1.

The daemon is the one on the socket (--socket), whatever its root.`

func newReloadCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon apply what has changed",
		Long:  aboutReload,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return reload(cmd.Context(), s) },
	}
}

func reload(ctx context.Context, s *session.Session) error {
	c, err := dialDaemon(ctx, s)
	if err != nil {
		return err
	}
	if err := c.Reload(ctx); err != nil {
		return exit.With(exit.Failed, err)
	}
	pid, root := c.State().PID, c.State().Identity.Root
	if s.Flags.JSON {
		return s.Out.JSON(map[string]any{"reloaded": true, "pid": pid, "root": root})
	}
	s.Out.Printf("reloaded the daemon (pid %d) of %s\n", pid, sanitize.Text(root))
	return nil
}
