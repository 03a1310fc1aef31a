package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/suggest"
)

// foreign is what users of gh, kubectl, docker and terraform type, and what it is here. None of it runs: the
// command fails and says it.
var foreign = map[string]string{
	"ps": "toolhost plugins", "run": "toolhost call", "exec": "toolhost call", "schema": "toolhost tools --for PROVIDER",
	"mcp": "toolhost plugins --kind mcp", "logout": "toolhost plugins login NAME --forget", "login": "toolhost plugins login NAME",
	"inspect": "toolhost tools show NAME, toolhost plugins show NAME", "describe": "toolhost tools show NAME, toolhost plugins show NAME",
	"get": "toolhost tools, toolhost plugins, toolhost jobs", "validate": "toolhost config check",
	"plan": "toolhost plugins install --check", "outdated": "toolhost plugins upgrade --check",
	"events": "toolhost logs --events", "cancel": "toolhost jobs cancel ID", "init": "toolhost config init, toolhost dev new NAME",
	"plugin": "toolhost plugins, and for authors toolhost dev",
}

// drastic are the commands that stop, delete, approve or refuse something. They are proposed to none who mistyped
// a word.
var drastic = []string{
	"stop", "end", "revoke", "remove", "disable", "cancel", "approve", "deny", "drain",
	"rollback", "trust", "enable", "upgrade", "restart", "reload",
}

// noSuchCommand returns the error for a word that is not a subcommand, with what may have been meant.
func noSuchCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	safe := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(drastic, name) })
	message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	near := suggest.Nearest(word, safe, 3)
	switch here, known := foreign[word]; {
	case slices.Contains([]string{"inspect", "describe", "get"}, word) && slices.Contains(names, "show"):
		return exit.Usage(message, "here it is "+cmd.CommandPath()+" show")
	case word == "ls" && slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == "list" }):
		return exit.Usage(message, "here it is "+cmd.CommandPath())
	case known:
		return exit.Usage(message, "here it is "+here)
	case len(near) > 0:
		return exit.Usage(message, output.DidYouMean(near))
	case len(names) == 0:
		return exit.Usage(message, "it has no subcommands: see "+cmd.CommandPath()+" --help")
	}
	return exit.Usage(message, "it has "+strings.Join(names, ", "))
}
