package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// newDevCommand returns the command of those who write plugins. The command of those who
// run them is plugins.
func newDevCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Write, check and package a plugin",
		Long: `Write, check and package a plugin of your own. To see and manage the plugins that this
host runs, use toolhost plugins.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newDevNewCommand(s), newDevRunCommand(s), newDevVerifyCommand(s), newDevPackCommand(s), newDevInspectCommand(s), newDevKeygenCommand(s),
	)
	return cmd
}
