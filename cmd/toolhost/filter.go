package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// filterFlags choose tools, in the same words for all commands that list them.
type filterFlags struct {
	filter    host.Filter
	maxSafety string
}

func (a *app) addFilterFlags(cmd *cobra.Command) *filterFlags {
	f := &filterFlags{}
	flags := cmd.Flags()
	flags.StringVar(&f.maxSafety, "max-safety", "", "only tools at or below this `LEVEL`: safe, cautious or dangerous")
	flags.StringSliceVar(&f.filter.Categories, "category", nil, "only tools of this `category`; may be repeated")
	flags.StringVar(&f.filter.Search, "search", "", "only tools with this `text` in name, title or description")
	_ = cmd.RegisterFlagCompletionFunc("max-safety", cobra.FixedCompletions(safetyLevels(), cobra.ShellCompDirectiveNoFileComp))
	a.completeFlag(cmd, "category", categories)
	return f
}

// parse is what the flags say.
func (f *filterFlags) parse() (host.Filter, error) {
	level, err := tool.ParseSafety(f.maxSafety)
	if err != nil {
		return host.Filter{}, &failure{exitUsage, err}
	}
	f.filter.MaxSafety = level
	return f.filter, nil
}

// choose are the tools that pass. Where there are none, it says why.
func (a *app) choose(ctx context.Context, h *opened, f host.Filter) ([]host.Tool, error) {
	tools, err := h.list(ctx, f)
	if err != nil {
		return nil, err
	}
	if note := h.emptyNote(); note != "" {
		a.err.printf("%s\n", note)
	} else if len(tools) == 0 {
		a.err.printf("none of the %d tools is asked for\n", h.count())
	}
	return tools, nil
}

// safetyLevels are the names of all levels, the harmless ones first.
func safetyLevels() []string {
	var out []string
	for level := tool.Safe; level.Valid(); level++ {
		out = append(out, level.String())
	}
	return out
}
