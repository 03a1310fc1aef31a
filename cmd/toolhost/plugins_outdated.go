package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newPluginsOutdatedCommand(s *session.Session) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "outdated",
		Short: "List the installed plugins of which there is a newer release",
		Long: `List the plugins that toolhost has installed, with the newest release where each came from. The
exit status is 0, and with --check 1 if there is a newer one.`,
		Example: `  toolhost plugins upgrade --check
  toolhost plugins upgrade --check --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return installing(cmd.Context(), s, installFlags{yes: true}, "toolhost plugins upgrade --check", func(i *install) error {
				return i.outdated(cmd.Context(), check)
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "exit with 1 if there is a newer release")
	return cmd
}

// release is an installed plugin and the newest release of it.
type release struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	Newest  string `json:"newest,omitempty"`
	// Outdated says that Newest is newer.
	Outdated bool   `json:"outdated"`
	Source   string `json:"source"`
	// Error says why the newest release is not known.
	Error string `json:"error,omitempty"`
}

func (i *install) outdated(ctx context.Context, check bool) error {
	all, failed := i.releases(ctx)
	if failed != nil && len(all) == 0 {
		return failed
	}
	n := 0
	table := output.Table{{"NAME", "INSTALLED", "NEWEST", "FROM"}}
	for _, r := range all {
		if r.Outdated {
			n++
		}
		newest := output.OrDash(r.Newest)
		if r.Error != "" {
			newest = "not known: " + output.FirstLine(r.Error)
		}
		table.Add(r.Plugin, r.Version, sanitize.Line(newest, 200), sanitize.Line(r.Source, 0))
	}
	if failed == nil && check && n > 0 {
		failed = exit.With(exit.Failed, errors.New(plural(n, "plugin")+" can be upgraded: toolhost plugins upgrade --all"))
	}
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"plugins": all}, failed)
	}
	if len(all) == 0 {
		i.s.Err.Printf("toolhost has installed no plugins\n")
		return failed
	}
	i.s.Out.Table(table)
	return failed
}

// releases returns the installed plugins. If that of some are not known, it returns an error too.
func (i *install) releases(ctx context.Context) ([]release, error) {
	plugins, err := i.Dir.Plugins()
	if err != nil {
		return nil, err
	}
	out := []release{}
	var failed error
	for _, p := range plugins {
		v, ok := p.Current()
		if !ok {
			continue
		}
		r := release{Plugin: p.Name, Version: v.Version, Source: v.Source}
		if r.Newest, r.Outdated, err = i.Newest(ctx, v); err != nil {
			r.Error = output.Message(err)
			failed = errors.Join(failed, err)
		}
		out = append(out, r)
	}
	return out, failed
}
