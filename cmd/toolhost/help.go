package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// helpWidth is the width of the help, in columns.
const helpWidth = 80

// setHelp makes root and all commands below it print their help in one form: within
// [helpWidth] columns, whatever the terminal, and without a flag's text more than once.
// The help of a command that does not exist prints nothing, see [misnamed].
func setHelp(s *session.Session, root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if misnamed(cmd) == nil {
			_, _ = io.WriteString(cmd.OutOrStdout(), helpOf(cmd))
		}
	})
	root.SetHelpCommand(newHelpCommand(s, root))
	root.CompletionOptions.DisableDefaultCmd = true
}

// misnamed returns the error for a word behind a command that is not one of its subcommands;
// nil if there is none. Where help is asked for, cobra does not look at the words.
func misnamed(cmd *cobra.Command) error {
	if words := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(words) > 0 {
		return noSuchCommand(cmd, words[0])
	}
	return nil
}

func newHelpCommand(s *session.Session, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", GroupID: setUp, Hidden: true,
		Short: "Show the help of a command",
		Long:  "Show the help of a command. With --json, it has the commands below it, too.",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, sub := range found.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = noSuchCommand(found, rest[0])
			}
			if err != nil {
				return err
			}
			if s.Flags.JSON {
				return s.Out.JSON(helpTree(found))
			}
			return found.Help()
		},
	}
}

// helpOf returns the help of a command.
func helpOf(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n", output.Fill(cmp.Or(cmd.Long, cmd.Short+"."), helpWidth))
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [--help]\n", cmd.CommandPath())
		writeCommands(&b, cmd)
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	own, everywhere := pflag.NewFlagSet("", pflag.ContinueOnError), cmd.Root().PersistentFlags()
	own.AddFlagSet(cmd.LocalFlags())
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if everywhere.Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	if own.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", own.FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, "\nFlags of all commands, see %s --help:\n%s\n", cmd.Root().Name(), flagNames(everywhere))
	}
	return b.String()
}

// writeCommands lists the commands below one, in their groups if there are any.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s:\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == g.ID {
				pad := sub.NamePadding() + 4
				short := output.Indent(output.Fill(sub.Short, helpWidth-pad), strings.Repeat(" ", pad))
				fmt.Fprintf(b, "  %-*s%s\n", pad-2, sub.Name(), strings.TrimLeft(short, " "))
			}
		}
	}
}

// flagNames lists flags without their explanations.
func flagNames(set *pflag.FlagSet) string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			name += "\u00a0" + value // they stay on one line
		}
		names = append(names, name)
	})
	text := output.Fill(strings.Join(names, ", "), helpWidth-2)
	return output.Indent(strings.ReplaceAll(text, "\u00a0", " "), "  ")
}
