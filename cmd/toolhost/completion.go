package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func newCompletionCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|fish|powershell|zsh",
		Short: "Print the script with which a shell completes commands",
		Long: `Print the script with which a shell completes commands, flags, and the names of tools, plugins and
more. Read it in where your shell reads its settings, or write it where the shell looks for such
scripts.`,
		Example: `  source <(toolhost completion bash)
  toolhost completion zsh > "${fpath[1]}/_toolhost"
  toolhost completion fish > ~/.config/fish/completions/toolhost.fish`,
		ValidArgs: shells, Args: oneName("a shell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			script, ok := map[string]func(io.Writer) error{
				"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"zsh":  root.GenZshCompletion, "powershell": root.GenPowerShellCompletionWithDesc,
			}[args[0]]
			if !ok {
				return exit.Usage(fmt.Sprintf("there is no completion for the shell %q", args[0]), "use "+strings.Join(shells, ", "))
			}
			return script(s.Out)
		},
	}
}
