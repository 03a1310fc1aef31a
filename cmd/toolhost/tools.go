package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newToolsCommand(s *session.Session) *cobra.Command {
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools",
		Long: `List the tools of all plugins, sorted by name.

A tool has to pass every filter; of several categories it needs one.`,
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

// shownTool is a tool as it is printed: with what is in effect, and what the plugin claims.
type shownTool struct {
	host.Tool
	ClaimedName       string      `json:"claimed_name,omitempty"` // if the operator has renamed the tool
	ClaimedSafety     tool.Safety `json:"claimed_safety"`
	ClaimedIdempotent bool        `json:"claimed_idempotent"`
	// ClaimedTimeout is left out if it is in effect.
	ClaimedTimeout tool.Duration `json:"claimed_timeout,omitempty"`
}

func shown(t host.Tool) shownTool {
	t.Safety = t.Safety.Effective()
	t.Title = t.DisplayTitle()
	s := shownTool{Tool: t, ClaimedSafety: t.Claimed.Safety, ClaimedIdempotent: t.Claimed.Idempotent}
	if t.Claimed.Name != t.Name {
		s.ClaimedName = t.Claimed.Name
	}
	if t.Claimed.Timeout != t.Timeout {
		s.ClaimedTimeout = t.Claimed.Timeout
	}
	return s
}
