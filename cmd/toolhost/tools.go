package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shownTool is a tool as it is listed: its safety is what the host goes by, and
// beside it stands what the plugin
// claims.
type shownTool struct {
	host.Tool
	ClaimedName       string      `json:"claimed_name,omitempty"` // where the operator has renamed it
	ClaimedSafety     tool.Safety `json:"claimed_safety"`
	ClaimedIdempotent bool        `json:"claimed_idempotent"`
	// ClaimedTimeout is there where it is not what the host goes by.
	ClaimedTimeout tool.Duration `json:"claimed_timeout,omitempty"`
}

func show(t host.Tool) shownTool {
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

func (a *app) toolsCommand() *cobra.Command {
	var f *filterFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools",
		Long: `List the tools of all plugins, sorted by name.

Conditions that are given all have to hold; of several categories, one.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.parse()
			if err != nil {
				return err
			}
			return a.withHost(cmd.Context(), needs{}, func(h *opened) error { return a.listTools(cmd.Context(), h, filter) })
		},
	}
	f = a.addFilterFlags(cmd)
	cmd.AddCommand(a.toolsShowCommand())
	return cmd
}

func (a *app) listTools(ctx context.Context, h *opened, filter host.Filter) error {
	chosen, err := a.choose(ctx, h, filter)
	if err != nil {
		return err
	}
	tools := []shownTool{}
	for _, t := range chosen {
		tools = append(tools, show(t))
	}
	if a.json {
		return a.out.json(tools)
	}
	if len(tools) > 0 {
		a.out.table(toolTable(tools))
	}
	return nil
}

func toolTable(tools []shownTool) table {
	t := table{{"NAME", "SAFETY", "PERMISSION", "PLUGIN", "DESCRIPTION"}}
	for _, s := range tools {
		t.add(s.Name, s.Safety.String(), orDash(string(s.Permission)), orDash(s.Owner), firstLine(s.Description))
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
