package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/internal/suggest"
)

// app is one run of the command: its streams and what the global flags say.
type app struct {
	stdin    io.Reader
	out, err *output

	dirs     []string
	root     string
	json     bool
	logLevel string
	carrier  string
	socket   string
	noDaemon bool

	configFile string
	globals    *pflag.FlagSet // the flags of all commands
	config     *configuration // nil: no configuration file concerns the command
	quiet      bool           // nothing is said of a file that is not trusted
	log        hclog.Logger   // made by logger
	// unkeptLocks are the locks, by path, that were seen and are not on record. Copies of
	// the app share them.
	unkeptLocks *sync.Map

	began        bool // cobra has accepted the command line
	carrierNamed bool // by somebody, and not by default
	openTerminal func() (terminal, error)
}

const about = `toolhost runs plugins that serve tools for agents: each plugin is a process of
its own, so that one that crashes, hangs or lies takes nothing with it.

Exit status: 0 done; 1 the tool reported a failure, or a check found one;
2 usage; 3 unknown tool; 4 invalid arguments; 5 refused (permission, approval,
rate, size); 6 plugin unavailable, crashed or answering nonsense; 7 deadline or
cancelled.`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Run plugins that serve tools for agents",
		Long:  about,
		// Errors are printed in one place, and usage only where it is asked for.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.began = true
			a.carrierNamed = cmd.Flags().Changed("carrier")
			return a.begin(cmd)
		},
	}
	a.addGlobalFlags(root)
	root.AddCommand(a.toolsCommand(), a.callCommand(), a.schemaCommand(), a.pluginsCommand(), a.auditCommand(), a.serveCommand(), a.reloadCommand(), a.configCommand(), a.trustCommand(), a.demoCommand(), a.doctorCommand(), a.versionCommand())
	return root
}

// noArguments accepts none. Of a command with others below it, a word is most
// likely the name of one of those, mistyped.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	if near := suggest.Nearest(args[0], names, 3); len(near) > 0 {
		return usage(message, didYouMean(near))
	}
	return usage(message, "it has "+strings.Join(names, ", "))
}

// oneName accepts one argument, and says what is missing otherwise.
func oneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s needs the name of a %s", cmd.CommandPath(), what)
		case 1:
			return nil
		}
		return fmt.Errorf("%s takes one name, not %d", cmd.CommandPath(), len(args))
	}
}

// usageIn is what cobra says about a command line, and where the right one is
// described.
func usageIn(cmd *cobra.Command, err error) error {
	if f, ok := err.(*failure); ok { //nolint:errorlint // it was not wrapped
		return f
	}
	return usage(err.Error(), "see "+cmd.CommandPath()+" --help")
}

func didYouMean(names []string) string { return "did you mean " + strings.Join(names, " or ") + "?" }
