package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginrun"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

func newPluginsRollbackCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback NAME [VERSION]",
		Short: "Go back to the plugin's binary that served before",
		Long: fmt.Sprintf(`Go back to what served before, here and in the daemon, without losing a call. Repeat it to go
back further.

Of a plugin that toolhost has installed, the version before, or the one that is named, is put in
place and pinned, until another version is installed. The last %d are kept, and nothing is fetched.

Of any other plugin, the binary that served before runs, until the file changes or toolhost
plugins restart NAME. Copies of the last %d are kept (toolhost plugins show NAME), and a lock
applies to them as to files. The plugin's file stays as it is.`, installed.KeptVersions, pluginrun.KeptBinaries),
		Example: `  toolhost plugins rollback files
  toolhost plugins rollback files 1.1.0`,
		Args:              nameAndVersion,
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if v, ok, err := installedVersion(s, args); err != nil || ok {
				return rollBackInstalled(cmd.Context(), s, v, err)
			}
			return s.Use(cmd.Context(), session.Needs{Shown: args[0]}, func(b *control.Client) error {
				return rollBackPlugin(cmd.Context(), s, b, args[0])
			})
		},
	}
	cmd.Flags().Bool("yes", false, "do not ask, as it never does")
	return cmd
}

func rollBackPlugin(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	if _, ok := session.Status(b.State().Plugins, name); !ok {
		return unknownPlugin(b, name)
	}
	if _, err := control.Do(ctx, b, daemonv1.DaemonHandler.RollbackPlugin, &daemonv1.RollbackPluginRequest{Name: name}); err != nil {
		return err
	}
	return s.Answer(map[string]any{"rolled_back": name}, "rolled back %s; see toolhost plugins show %[1]s\n", name)
}
