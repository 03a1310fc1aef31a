package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// filterFlags choose tools, with the same flags for all commands that list them.
type filterFlags struct {
	filter    host.Filter
	maxSafety string
}

func (f *filterFlags) bind(s *session.Session, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.maxSafety, "max-safety", "", "only tools at or below this `LEVEL`: safe, cautious or dangerous")
	flags.StringSliceVar(&f.filter.Categories, "category", nil, "only tools of this `CATEGORY`; may be repeated")
	flags.StringVar(&f.filter.Search, "search", "", "only tools with this `TEXT` in name, title or description")
	_ = cmd.RegisterFlagCompletionFunc("max-safety", cobra.FixedCompletions(safetyLevels(), cobra.ShellCompDirectiveNoFileComp))
	s.Flags.BindPlugin(cmd)
	completeFlag(s, cmd, "category", categories)
}

// use opens a backend and hands the tools that pass to f. If there are none, it prints why.
func (f *filterFlags) use(ctx context.Context, s *session.Session, show func([]host.Tool) error) error {
	level, err := tool.ParseSafety(f.maxSafety)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	f.filter.MaxSafety = level
	return s.Use(ctx, session.Needs{}, func(b session.Backend) error {
		tools, err := b.Tools(ctx, f.filter)
		if err != nil {
			return err
		}
		if note := noPluginsNote(b); note != "" && b.Len() == 0 { // else they are other hosts' or MCP servers'
			s.Err.Printf("%s\n", note)
		} else if len(tools) == 0 {
			s.Err.Printf("no tool matches (%d are registered)\n", b.Len())
		}
		return show(tools)
	})
}

// safetyLevels returns the names of all levels, the least dangerous first.
func safetyLevels() []string {
	var out []string
	for level := tool.Safe; level <= tool.Dangerous; level++ {
		out = append(out, level.String())
	}
	return out
}
