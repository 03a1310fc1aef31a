package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/dev"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/wire"
)

const aboutRun = `Build the plugin in a directory, serve it, and build it again whenever a source is saved.
What the build, the plugin and the host say is shown as it happens: the compiler's errors,
the plugin's log, each call with its duration and outcome, and what the sandbox denied.

The command that builds is what follows --, else make build if there is a Makefile with
that target, else go build. A plugin that go build makes is written to a private directory;
another command says where it writes with --output, or writes the only executable in bin.
Sources are the files that git does not ignore, or without git all but hidden files and
the directories bin, build, dist, target and node_modules, but no notes or data that calls write.

What was built takes over without losing a call. If it does not compile, or does not start,
the build before goes on serving.

It runs as a daemon of its own, in a private directory, without locks, publishers or what
is installed; if the configuration requires a lock or signatures, it says that they do not
apply. The rest of the configuration applies, and calls are recorded. The flags by which
other commands use it are printed. --grant and --yes are as for toolhost serve. An interrupt
ends all of it, and leaves nothing.

--call calls a tool after each build: its name, and a JSON object of arguments if it takes
any; it has all grants of --grant, and is approved. With --json each event is a line of JSON.

With TOOLHOST_REATTACH in the environment, or --reattach, it builds and starts nothing: it uses
a plugin that runs already, perhaps in a debugger, and lets it go at the end. A plugin of the
Go SDK that is started with TOOLHOST_DEBUG=1 prints the line to export.`

func newDevRunCommand(s *session.Session) *cobra.Command {
	var o dev.Options
	var grants []string
	var call, output, reattach string
	cmd := &cobra.Command{
		Use:   "run [DIR] [-- COMMAND...]",
		Short: "Build and serve a plugin, again whenever its sources change",
		Long:  aboutRun,
		Example: `  toolhost dev run .
  toolhost dev run ./hello --call 'hello {"name":"World"}'
  toolhost dev run ./hello --output out/hello -- cargo build --release
  toolhost dev run ./hello --once --json
  TOOLHOST_DEBUG=1 dlv exec ./hello      # prints TOOLHOST_REATTACH='...'
  TOOLHOST_REATTACH='...' toolhost dev run`,
		Args: func(cmd *cobra.Command, args []string) error {
			words := len(args)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				words = dash
				if dash == len(args) {
					return fmt.Errorf("after --, %s needs the command that builds", cmd.CommandPath())
				}
			}
			switch words {
			case 0:
				if reattachment(reattach) != "" {
					return nil
				}
				return fmt.Errorf("%s needs the directory of a plugin's sources, such as . (toolhost dev new NAME makes one)", cmd.CommandPath())
			case 1:
				return nil
			}
			return fmt.Errorf("%s takes one directory, not %d; a command that builds follows --", cmd.CommandPath(), words)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 || cmd.ArgsLenAtDash() >= 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			for _, other := range []string{"plugin-dir", "mcp-config", "socket", "no-daemon"} {
				if s.Flags.Given(other) {
					return exit.Usage("--"+other+" has no effect with toolhost dev run", "leave it out: the plugin is served from a directory of its own")
				}
			}
			if o.Grants, err = session.ParseGrants(grants); err != nil {
				return err
			}
			if o.Call, err = parseCall(call); err != nil {
				return err
			}
			o.Call.Grants, o.Call.Yes = o.Grants, true
			if running := reattachment(reattach); running != "" {
				if output != "" || cmd.ArgsLenAtDash() >= 0 {
					return exit.Usage("a plugin that runs already is not built: --output and a command have no effect",
						"leave them out, or "+wire.ReattachVariable+" and --reattach")
				}
				p, err := dev.Reattach(running)
				if err != nil {
					return err
				}
				return dev.Run(cmd.Context(), s, p, o)
			}
			p, err := dev.Find(cmd.Context(), args[0], output, args[1:])
			if err != nil {
				return err
			}
			return dev.Run(cmd.Context(), s, p, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&call, "call", "", "after each build, make this `CALL`: a tool, and its arguments as JSON")
	flags.StringVar(&output, "output", "", "the `FILE` that the build writes, in DIR")
	flags.StringVar(&reattach, "reattach", "", "use the plugin that runs where this `JSON` says (default $"+wire.ReattachVariable+")")
	flags.BoolVar(&o.Once, "once", false, "build, serve and call once, and end with the status of that")
	flags.StringSliceVar(&grants, "grant", nil, "`CAPABILITY` that callers may request, such as fs:read; may be repeated")
	flags.BoolVar(&o.Yes, "yes", false, "let callers run dangerous tools with --yes")
	completeFlag(s, cmd, "grant", capabilities)
	return cmd
}

// reattachment says where a plugin runs that is not to be built; empty: there is none.
func reattachment(flag string) string { return cmp.Or(flag, os.Getenv(wire.ReattachVariable)) }

// ignoreReattach says that a command has no use for [wire.ReattachVariable], if it is set.
func ignoreReattach(s *session.Session, cmd *cobra.Command) {
	if os.Getenv(wire.ReattachVariable) != "" && cmd.CommandPath() != "toolhost dev run" {
		s.Err.Printf("%s counts in toolhost dev run only\n", wire.ReattachVariable)
	}
}

// parseCall takes a call apart: the name of a tool, and a JSON object.
func parseCall(text string) (c control.Call, err error) {
	name, arguments, _ := strings.Cut(strings.TrimSpace(text), " ")
	c.Name = name
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		return c, nil
	}
	var object map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader([]byte(arguments))).Decode(&object); err != nil || object == nil {
		return c, exit.Usage("--call: what follows the tool's name is not a JSON object", `write it as --call '`+name+` {"name":"value"}'`)
	}
	c.Arguments = json.RawMessage(arguments)
	return c, nil
}
