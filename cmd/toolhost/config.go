package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

const aboutConfig = `Judge, make and show the configuration file.

The file is the one that is given, else that of --config, of ` + session.ConfigVariable + `, or
` + session.DefaultConfig + ` in the current directory, where other commands go by it once it is
trusted (toolhost trust). A flag goes before the file, and the file before
the environment. A command that is given no file, and finds none, goes by the defaults.
A file with a problem has no effect at all: commands that need it exit with 2.`

func newConfigCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Judge, make and show the configuration file",
		Long:  aboutConfig,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheckCommand(s), newConfigInitCommand(s), newConfigSchemaCommand(s), newConfigShowCommand(s))
	return cmd
}

func newConfigSchemaCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the file, by which editors complete it",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, _ = s.Out.Write(config.Schema())
			return nil
		},
	}
}

func newConfigShowCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show what the file says, with all defaults, as JSON",
		Long: `Show what the file says, with all defaults, as JSON. Values of environments are left
out; of references is shown what they refer to.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			nameConfig(s, args)
			c, err := shownConfig(s)
			if err != nil {
				return err
			}
			return s.Out.JSON(c)
		},
	}
}

// shownConfig is the file, to be shown: it is not gone by.
func shownConfig(s *session.Session) (*config.Config, error) {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		s.NoteIfUntrusted(path, by)
		s.Flags.Config = path
	}
	return s.ReadConfig(session.AtStart, nil)
}

// nameConfig takes the file that is given as an argument.
func nameConfig(s *session.Session, args []string) {
	if len(args) > 0 {
		s.Flags.Config = args[0]
	}
}
