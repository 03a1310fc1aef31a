package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginsource"
)

func newPluginsUpgradeCommand(s *session.Session) *cobra.Command {
	var f installFlags
	var all, check bool
	cmd := &cobra.Command{
		Use:   "upgrade [NAME]",
		Short: "Install the newest release of an installed plugin",
		Long: fmt.Sprintf(`Install the newest release of a plugin from the place that it was installed from, or of all of them, as
toolhost plugins install does. The daemon changes over without losing a call. The last %d versions are kept:
toolhost plugins rollback NAME goes back.

With --check nothing changes: the newest releases are shown, and the exit status is 1 if there is a newer
one, a notice of what is installed (withdrawn, deprecated, an advisory), or that is not there any more.`, installed.KeptVersions),
		Example: `  toolhost plugins upgrade files
  toolhost plugins upgrade --all --yes
  toolhost plugins upgrade --check`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: completeArgument(s, func(context.Context, *control.Client) []string {
			return installedNames(s)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) && !check {
				return exit.Usage("it needs the name of a plugin, or --all", "toolhost plugins upgrade --check lists those with a newer release")
			}
			f.yes = f.yes || check
			return installing(cmd.Context(), s, f, "toolhost plugins upgrade", func(i *install) error {
				return i.upgrade(cmd.Context(), args, check)
			})
		},
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "upgrade all that were installed")
	cmd.Flags().BoolVar(&check, "check", false, "show the newest releases, and do nothing")
	return cmd
}

// installedNames are the names of the plugins that are installed, for completion.
func installedNames(s *session.Session) (out []string) {
	d, err := installed.OpenExisting(s.Settings().InstallDir())
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	all, _ := d.Plugins()
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

// notInstalled is the error of a name that toolhost has not installed.
func notInstalled(s *session.Session, name string) error {
	return exit.Usage(fmt.Sprintf("toolhost has not installed a plugin %q", name),
		output.Suggest(name, installedNames(s), "toolhost plugins upgrade --check lists what it has"))
}

// upgrade upgrades the named plugin, or all; check: it shows what there is.
func (i *install) upgrade(ctx context.Context, names []string, check bool) error {
	plugins, err := i.Dir.Plugins()
	if err != nil {
		return err
	}
	if len(names) == 1 {
		p, err := i.Dir.Plugin(names[0])
		if err != nil {
			return err
		}
		if _, ok := p.Current(); !ok {
			return notInstalled(i.s, names[0])
		}
		plugins = []installed.Plugin{p}
	}
	if check {
		return i.outdated(ctx, plugins)
	}
	done, failed := []installation{}, error(nil)
	for _, p := range plugins {
		v, ok := p.Current()
		if !ok {
			continue
		}
		one, err := i.upgradeOne(ctx, v)
		failed = errors.Join(failed, err)
		if err == nil {
			done = append(done, one)
			if !i.s.Flags.JSON {
				i.s.Out.Text(one.text())
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"plugins": done}, failed)
	}
	i.noteUnserved()
	return failed
}

func (i *install) upgradeOne(ctx context.Context, v installed.Version) (installation, error) {
	newest, err := i.Newest(ctx, v)
	if err != nil {
		return installation{}, err
	}
	if !newest.Newer {
		plan := installer.Plan{
			Plugin: v.Name, Version: v.Version, Before: v.Version, Action: installer.Nothing, Source: v.Source, Package: v.Package,
			Platform: v.Platform, SHA256: v.SHA256, Publisher: v.Publisher, Notices: newest.Notices,
		}
		i.warnOf(plan)
		return installation{Plan: plan}, nil
	}
	ref, err := pluginsource.Parse(v.Source)
	if err != nil {
		return installation{}, err
	}
	if ref.Tag != "" {
		newest.Version = ""
	}
	return i.one(ctx, installer.Wish{Ref: ref.Follow(), Version: newest.Version, Name: v.Name})
}
