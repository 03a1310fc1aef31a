package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// newPluginCommand returns the command of those who write plugins. The command of those who
// run them is plugins.
func newPluginCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Write, check and package a plugin",
		Long: `Write, check and package a plugin of your own. To see and manage the plugins that this
host runs, use toolhost plugins.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginNewCommand(s))
	cmd.AddCommand(newPluginPackCommand(s))
	cmd.AddCommand(newPluginPushCommand(s))
	cmd.AddCommand(newPluginInspectCommand(s))
	cmd.AddCommand(newPluginKeygenCommand(s))
	cmd.AddCommand(newPluginVerifyCommand(s))
	cmd.AddCommand(newPluginDevCommand(s))
	return cmd
}
