package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandHelp is the help of a command and of those below it, for programs. The reference in
// docs is made from it.
type commandHelp struct {
	Name     string        `json:"name"`  // with those of the commands above
	Usage    string        `json:"usage"` // empty: it only has commands below it
	Short    string        `json:"short"`
	Long     string        `json:"long,omitempty"`
	Example  string        `json:"example,omitempty"`
	Flags    []flagHelp    `json:"flags,omitempty"` // without those of the commands above
	Commands []commandHelp `json:"commands,omitempty"`
}

// flagHelp is the help of a flag.
type flagHelp struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand,omitempty"`
	Value     string `json:"value,omitempty"` // what it takes; empty: none
	Usage     string `json:"usage"`
	Default   string `json:"default,omitempty"`
}

// helpTree returns the help of a command and of those below it.
func helpTree(cmd *cobra.Command) commandHelp {
	cmd.InitDefaultHelpFlag()
	out := commandHelp{Name: cmd.CommandPath(), Short: cmd.Short, Long: cmd.Long, Example: cmd.Example}
	if cmd.Runnable() {
		out.Usage = cmd.UseLine()
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		shown := flagHelp{Name: f.Name, Shorthand: f.Shorthand, Value: value, Usage: usage}
		if zero := map[string]bool{"": true, "false": true, "[]": true, "0": true, "0s": true}; !zero[f.DefValue] {
			shown.Default = f.DefValue
		}
		out.Flags = append(out.Flags, shown)
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			out.Commands = append(out.Commands, helpTree(sub))
		}
	}
	return out
}
