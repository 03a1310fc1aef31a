package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

const aboutConfig = `Show the settings of the configuration file, with all defaults, as JSON. Values of environment
variables are hidden. References show the variable or file they refer to.

The file is the argument of a command below, or else that of --config or ` + session.ConfigVariable + `, or else
` + session.DefaultConfig + ` in the current directory, which other commands use once it is trusted
(toolhost trust). Flags override the file, and the file overrides the environment.
Without a file, the defaults hold. A file with a problem has no effect at all: commands
that need it exit with 2.`

func newConfigCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show, check, create and explain the configuration file",
		Long:    aboutConfig,
		Example: "  toolhost config --config staging.yaml",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			c, err := shownConfig(s)
			if err != nil {
				return err
			}
			return s.Out.JSON(c)
		},
	}
	cmd.AddCommand(newConfigCheckCommand(s), newConfigInitCommand(s), newConfigExplainCommand(s))
	return cmd
}

// shownConfig reads the file to show it. The file need not be trusted.
func shownConfig(s *session.Session) (*config.Config, error) {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		s.NoteIfUntrusted(path, by)
		s.Flags.Config = path
	}
	return s.ReadConfig(session.ToShow, nil)
}

// nameConfig uses the file that is given as an argument.
func nameConfig(s *session.Session, args []string) {
	if len(args) > 0 {
		s.Flags.Config = args[0]
	}
}
