package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newConfigInitCommand(s *session.Session) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Example: "  toolhost config init",
		Use:     "init [FILE]",
		Short:   "Write a configuration file to start from",
		Long: `Write a configuration file to start from. It has every setting, explained and commented
out, and changes nothing until you edit it. An existing file is kept, except with
--force. The new file is trusted as it is. After you have edited it, run toolhost trust.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			nameConfig(s, args)
			return initConfig(s, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

func initConfig(s *session.Session, force bool) error {
	path, _, err := s.Flags.ConfigPath()
	if err != nil {
		return err
	}
	write := safefile.Create
	if force {
		write = safefile.Replace
	}
	err = write(path, config.Initial(), 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return exit.Usage(sanitize.Text(path)+" is there already, and was left as it is", "name another file, or say --force to replace it")
	case err != nil:
		return exit.With(exit.Failed, fmt.Errorf("%s was not written: %w", sanitize.Text(path), err))
	}
	s.Trust(path, fmt.Sprintf("%x", sha256.Sum256(config.Initial()))) // the user has just made toolhost write it
	return s.Answer(map[string]string{"file": path},
		"wrote %s\nedit it, then: toolhost config check %[1]s, and toolhost trust %[1]s\n", sanitize.Text(path))
}
