package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

const aboutConfig = `Judge, make and show the configuration file.

The file is the one that is given, else that of --config, of ` + configVariable + `, or
` + defaultConfig + ` in the current directory, where other commands go by it once it is
trusted (toolhost trust). A flag goes before the file, and the file before
the environment. A command that is given no file, and finds none, goes by the defaults.
A file with a problem has no effect at all: commands that need it exit with 2.`

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Judge, make and show the configuration file",
		Long:  aboutConfig,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.configCheckCommand(), a.configInitCommand(), a.configSchemaCommand(), a.configShowCommand())
	return cmd
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the file, by which editors complete it",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, _ = a.out.Write(config.Schema())
			return nil
		},
	}
}

func (a *app) configShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show what the file says, with all defaults, as JSON",
		Long: `Show what the file says, with all defaults, as JSON. Values of environments are left
out; of references is shown what they refer to.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.nameConfig(args)
			c, err := a.shownConfig()
			if err != nil {
				return err
			}
			return a.out.json(c)
		},
	}
}

// shownConfig is the file, to be shown: it is not gone by.
func (a *app) shownConfig() (*config.Config, error) {
	path, by, err := a.configPath()
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	if _, err := os.Lstat(path); err == nil {
		a.noteIfUntrusted(path, by)
		a.configFile = path
	}
	return a.loadConfig(aCommand)
}

// noteIfUntrusted says that commands do not go by a file, for one that is looked at.
func (a *app) noteIfUntrusted(path, by string) {
	if ok, err := a.trusts(path); by == "" && (err != nil || !ok) {
		a.noteUntrusted(path)
	}
}

// nameConfig takes the file that is given as an argument.
func (a *app) nameConfig(args []string) {
	if len(args) > 0 {
		a.configFile = args[0]
	}
}
