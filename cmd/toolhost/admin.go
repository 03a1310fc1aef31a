package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// administration are the commands that are on record, as they change what may run, be called or come in. What
// a command has a daemon do (reload, stop, restart a plugin, answer a question), the daemon records.
var administration = []string{
	"tokens new", "tokens revoke", "trust", "config init", "connect", "plugins login",
	"plugins install", "plugins remove", "plugins upgrade", "plugins rollback", "plugins enable", "plugins disable", "plugins lock",
}

// looks are the flags with which such a command changes nothing.
var looks = []string{"check", "list", "download", "print"}

// recordAdministration has these commands put on record what they did, or did not: also what was refused.
func recordAdministration(s *session.Session, root *cobra.Command) {
	for _, path := range administration {
		cmd, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 {
			continue // the tree may have only the command that is run
		}
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if object, acts := objectOf(cmd, args); acts && (err == nil || exit.Status(err) != exit.BadUsage) {
				if unrecorded := s.Record(path, object, err); unrecorded != nil {
					s.Warn(tool.AsError(unrecorded)) // it is done
				}
			}
			return err
		}
	}
}

// objectOf returns the arguments and the flags of a command; false: it only looks.
func objectOf(cmd *cobra.Command, args []string) (object string, acts bool) {
	acts = cmd.Name() != "connect" || len(args) > 0
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(f.Name) != nil {
			return
		}
		for _, name := range looks {
			acts = acts && (f.Name != name || f.Value.String() == "false")
		}
		if f.Value.Type() == "bool" {
			args = append(args, "--"+f.Name)
		} else {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return strings.Join(args, " "), acts
}
