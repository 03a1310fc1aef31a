package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/suggest"
)

const aboutToolhost = `toolhost runs plugins that serve tools for agents. Each plugin is a process of its
own, so a plugin that crashes, hangs or lies takes nothing else down.

Exit status:
  0  done
  1  the tool reported a failure, or a check found one
  2  usage: the command line or the configuration is wrong
  3  unknown tool
  4  invalid arguments
  5  refused (permission, approval, rate, size)
  6  plugin unavailable, crashed or sent an invalid answer
  7  deadline exceeded or canceled

With --json, standard output has JSON only. If a command fails, that is an object
with the member error, which has code, message and hint.`

// subcommand is a command below the root.
type subcommand struct {
	name  string
	reads reads
	make  func(*session.Session) *cobra.Command
}

var subcommands = []subcommand{
	{"tools", orDaemon, newToolsCommand}, {"call", orDaemon, newCallCommand}, {"schema", orDaemon, newSchemaCommand},
	{"plugins", orDaemon, newPluginsCommand}, {"mcp", orDaemon, newMCPCommand}, {"audit", orDaemon, newAuditCommand},
	{"sessions", orDaemon, newSessionsCommand}, {"jobs", orDaemon, newJobsCommand},
	{"serve", itself, newServeCommand}, {"sync", itself, newSyncCommand},
	{"status", "", newStatusCommand}, {"reload", "", newReloadCommand}, {"stop", "", newStopCommand},
	{"tokens", "", newTokensCommand}, {"approvals", "", newApprovalsCommand}, {"fleet", "", newFleetCommand},
	{"dev", "", newDevCommand}, {"config", "", newConfigCommand}, {"trust", "", newTrustCommand},
	{"demo", "", newDemoCommand}, {"doctor", "", newDoctorCommand}, {"version", "", newVersionCommand},
}

// newRootCommand returns the command with all its subcommands, or, if args begin with the name of
// one, with that one: the others would only take time. It calls accepted before a subcommand runs.
func newRootCommand(s *session.Session, accepted func(), args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Run plugins that serve tools for agents",
		Long:  aboutToolhost,
		// Errors are printed in one place, and usage only when it is asked for.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
				return err // cobra checks them later, when an error is not one of the command line any more
			}
			accepted()
			ignoreReattach(s, cmd)
			policy := readsOf(cmd)
			if policy == "" {
				return nil
			}
			s.Serving = cmd.Name() == "serve"
			if s.Serving && speaksOnStdout(cmd) {
				s.Out = output.New(io.Discard)
			}
			err := s.Configure(!s.Serving)
			if s.Unread() != nil && policy == orDaemon {
				return nil
			}
			return err
		},
	}
	s.Flags.Bind(root)
	named := -1
	if len(args) > 0 {
		named = slices.IndexFunc(subcommands, func(c subcommand) bool { return c.name == args[0] })
	}
	for i, c := range subcommands {
		if named < 0 || i == named {
			root.AddCommand(c.reads.mark(c.make(s))...)
		}
	}
	recordAdministration(s, root)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	setHelp(s, root)
	return root
}

// noArguments accepts no arguments. For a command with subcommands, a word is most likely a
// mistyped subcommand.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return noSuchCommand(cmd, args[0])
}

// noSuchCommand returns the error for a word that is not a subcommand, with those that are.
func noSuchCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	switch near := suggest.Nearest(word, names, 3); {
	case len(near) > 0:
		return exit.Usage(message, output.DidYouMean(near))
	case len(names) == 0:
		return exit.Usage(message, "it has no subcommands: see "+cmd.CommandPath()+" --help")
	}
	return exit.Usage(message, "it has "+strings.Join(names, ", "))
}

// oneName accepts one argument, the name of a tool or plugin.
func oneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s needs the name of %s", cmd.CommandPath(), what)
		case 1:
			return nil
		}
		return fmt.Errorf("%s takes one name, not %d", cmd.CommandPath(), len(args))
	}
}

// usageIn returns an error of cobra about the command line with a reference to the help.
func usageIn(cmd *cobra.Command, err error) error {
	if own, ok := err.(*exit.Error); ok { //nolint:errorlint // it is not wrapped
		return own
	}
	return exit.Usage(err.Error(), "see "+cmd.CommandPath()+" --help")
}
