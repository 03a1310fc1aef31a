package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

const aboutToolhost = `toolhost runs plugins that serve tools for agents. Each plugin is a process of its
own, so a plugin that crashes, hangs or lies takes nothing else down.

Exit status: 0 done; 1 the tool reported a failure, or a check found one; 2 the command line or the
configuration is wrong; 3 unknown tool; 4 invalid arguments; 5 refused (permission, approval, rate, size);
6 plugin unavailable, crashed or sent an invalid answer; 7 deadline exceeded or canceled.`

// subcommand is a command below the root.
type subcommand struct {
	name  string
	reads reads
	group string // its title in the help
	lists bool   // it is a noun, and NAME list is the same
	make  func(*session.Session) *cobra.Command
}

// The groups of the help, in their order.
const (
	everyDay   = "Every day"
	theDaemon  = "Daemon"
	thePlugins = "Plugins and MCP servers"
	theFleet   = "Fleet"
	authors    = "Authors"
	setUp      = "Set up"
)

var subcommands = []subcommand{
	{"tools", orDaemon, everyDay, true, newToolsCommand},
	{"call", orDaemon, everyDay, false, newCallCommand},
	{"jobs", orDaemon, everyDay, true, newJobsCommand},
	{"approvals", "", everyDay, true, newApprovalsCommand},
	{"audit", orDaemon, everyDay, true, newAuditCommand},
	{"top", "", everyDay, false, newTopCommand},
	{"console", "", everyDay, false, newConsoleCommand},
	{"status", "", everyDay, false, newStatusCommand},
	{"serve", itself, theDaemon, false, newServeCommand},
	{"reload", "", theDaemon, false, newReloadCommand},
	{"stop", "", theDaemon, false, newStopCommand},
	{"logs", orDaemon, theDaemon, false, newLogsCommand},
	{"sessions", orDaemon, theDaemon, true, newSessionsCommand},
	{"tokens", "", theDaemon, true, newTokensCommand},
	{"plugins", orDaemon, thePlugins, true, newPluginsCommand},
	{"fleet", "", theFleet, true, newFleetCommand},
	{"dev", "", authors, false, newDevCommand},
	{"connect", "", setUp, false, newConnectCommand},
	{"config", "", setUp, false, newConfigCommand},
	{"trust", "", setUp, false, newTrustCommand},
	{"doctor", "", setUp, false, newDoctorCommand},
	{"demo", "", setUp, false, newDemoCommand},
	{"completion", "", setUp, false, newCompletionCommand},
	{"version", "", setUp, false, newVersionCommand},
}

// newRootCommand returns the command with all its subcommands, or, if args begin with the name of
// one, with that one: the others would only take time. It calls accepted before a subcommand runs.
func newRootCommand(s *session.Session, accepted func(), args ...string) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Run plugins that serve tools for agents",
		Long:  aboutToolhost,
		// Errors are printed in one place, and usage only when it is asked for.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(s)
			}
			return cmd.Help()
		},
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
		if !root.ContainsGroup(c.group) {
			root.AddGroup(&cobra.Group{ID: c.group, Title: c.group})
		}
		if named >= 0 && i != named {
			continue
		}
		cmd := c.make(s)
		if cmd.GroupID = c.group; c.lists {
			addList(cmd)
		}
		root.AddCommand(c.reads.mark(cmd)...)
	}
	root.Flags().BoolVar(&version, "version", false, "show the version")
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
