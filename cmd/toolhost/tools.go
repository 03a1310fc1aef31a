package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
)

func newToolsCommand(s *session.Session) *cobra.Command {
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools",
		Long: `List the tools of all plugins, sorted by name.

A tool has to pass every filter; of several categories it needs one.`,
		Example: `  toolhost tools --max-safety safe
  toolhost tools --plugin ./hello`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return filter.use(cmd.Context(), s, func(tools []host.Tool) error { return listTools(s, tools) })
		},
	}
	filter.bind(s, cmd)
	cmd.AddCommand(newToolsShowCommand(s))
	return cmd
}

func listTools(s *session.Session, tools []host.Tool) error {
	list := make([]shownTool, len(tools))
	for i, t := range tools {
		list[i] = shown(t)
	}
	if s.Flags.JSON {
		return s.Out.JSON(list)
	}
	if len(list) == 0 {
		return nil
	}
	table := output.Table{{"NAME", "SAFETY", "PERMISSION", "PLUGIN", "DESCRIPTION"}}
	for _, t := range list {
		table.Add(t.Name, t.Safety.String(), output.OrDash(string(t.Permission)), output.OrDash(t.Owner), output.FirstLine(t.Description))
	}
	s.Out.Table(table)
	return nil
}
