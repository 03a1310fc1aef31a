package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shownTool is a tool as it is listed: its safety is what the host goes by, and
// beside it stands what the plugin claims.
type shownTool struct {
	host.Tool
	ClaimedSafety tool.Safety `json:"claimed_safety"`
}

func show(t host.Tool) shownTool {
	claimed := t.Safety
	t.Safety = claimed.Effective()
	t.Title = t.DisplayTitle()
	return shownTool{t, claimed}
}

func (a *app) toolsCommand() *cobra.Command {
	var filter host.Filter
	var maxSafety string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools",
		Long: `List the tools of all plugins, sorted by name.

Conditions that are given all have to hold; of several categories, one.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level, err := tool.ParseSafety(maxSafety)
			if err != nil {
				return &failure{exitUsage, err}
			}
			filter.MaxSafety = level
			return a.withHost(cmd.Context(), func(h *opened) error { return a.listTools(h, filter) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&maxSafety, "max-safety", "", "only tools at or below this `LEVEL`: safe, cautious or dangerous")
	flags.StringSliceVar(&filter.Categories, "category", nil, "only tools of this `category`; may be repeated")
	flags.StringVar(&filter.Search, "search", "", "only tools with this `text` in name, title or description")
	_ = cmd.RegisterFlagCompletionFunc("max-safety", cobra.FixedCompletions(safetyLevels(), cobra.ShellCompDirectiveNoFileComp))
	a.completeFlag(cmd, "category", categories)
	cmd.AddCommand(a.toolsShowCommand())
	return cmd
}

// safetyLevels are the names of all levels, the harmless ones first.
func safetyLevels() []string {
	var out []string
	for level := tool.Safe; level.Valid(); level++ {
		out = append(out, level.String())
	}
	return out
}

func (a *app) listTools(h *opened, filter host.Filter) error {
	tools := []shownTool{}
	for _, t := range h.Tools(filter) {
		tools = append(tools, show(t))
	}
	if note := h.emptyNote(); note != "" {
		a.err.printf("%s\n", note)
	} else if len(tools) == 0 {
		a.err.printf("none of the %d tools is asked for\n", h.Len())
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
