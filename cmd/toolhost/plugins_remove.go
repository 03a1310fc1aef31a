package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newPluginsRemoveCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a plugin that toolhost has installed",
		Long: `Remove a plugin that toolhost has installed, with the versions of it that are kept, and unpin it. A
running daemon lets its calls end. What toolhost did not install it does not remove.`,
		Example:           `  toolhost plugins remove files`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, func(context.Context, *control.Client) []string { return installedNames(s) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return installing(cmd.Context(), s, installFlags{yes: true}, "toolhost plugins remove "+args[0], func(i *install) error {
				return i.remove(cmd.Context(), args[0])
			})
		},
	}
}

func (i *install) remove(ctx context.Context, name string) error {
	p, err := i.Dir.Plugin(name)
	if err != nil {
		return err
	}
	if len(p.Versions) == 0 {
		return notInstalled(i.s, name)
	}
	if err := i.Dir.Remove(name); err != nil {
		return tool.Errorf(tool.CodeUnavailable, "%s cannot be removed: %w", name, err).Of("", name)
	}
	i.lock.fresh = nil
	unpinned, err := i.lock.change(func(l *lockfile.Lock) error { l.Unpin(name); return nil })
	if err != nil {
		return err
	}
	i.s.ReloadDaemon(ctx)
	return i.s.Answer(map[string]any{"removed": name, "unpinned": append([]string{}, unpinned.files...)}, "removed %s\n", name)
}
