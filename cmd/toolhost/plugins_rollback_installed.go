package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func nameAndVersion(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return oneName("a plugin")(cmd, args)
}

// installedVersion returns the version of an installed plugin to go back to; false: toolhost did not
// install the plugin.
func installedVersion(s *session.Session, args []string) (v installed.Version, ok bool, err error) {
	var p installed.Plugin
	d, err := installed.OpenExisting(s.Settings().InstallDir())
	if err == nil {
		p, err = d.Plugin(args[0])
		err = errors.Join(err, d.Close())
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return v, false, err
	case len(p.Versions) == 0 && len(args) == 2:
		return v, false, notInstalled(s, args[0])
	case len(p.Versions) == 0 || s.Settings().Dirs.Installed == "":
		return v, false, nil
	}
	var kept []string
	for _, one := range p.Versions {
		if len(args) == 2 && one.Version == strings.TrimPrefix(args[1], "v") || len(args) == 1 && !one.Current {
			return one, true, nil
		}
		kept = append(kept, one.Version)
	}
	return v, false, exit.Usage(fmt.Sprintf("that version of %s is not kept; there are: %s", args[0], strings.Join(kept, ", ")),
		"install it again: toolhost plugins install REF --version VERSION --downgrade")
}

// rollBackInstalled puts a version that is kept in place.
func rollBackInstalled(ctx context.Context, s *session.Session, v installed.Version, err error) error {
	if err != nil {
		return err
	}
	return installing(ctx, s, installFlags{yes: true}, "toolhost plugins rollback "+v.Name, func(i *install) error {
		done, err := i.putKept(ctx, v)
		return i.report(done, err)
	})
}

// putKept puts a version that is kept in place, if the operator's rules still allow it.
func (i *install) putKept(ctx context.Context, v installed.Version) (installation, error) {
	signed, err := i.Dir.Signed(v)
	if err != nil {
		return installation{}, tool.Errorf(tool.CodeUnavailable, "%w", err).Of("", v.Name)
	}
	plan, err := i.PlanKept(v, signed)
	if err != nil {
		return installation{}, err
	}
	if plan.Action == installer.Nothing && i.lock.has(plan) {
		return installation{Plan: plan}, nil
	}
	i.warnOf(plan)
	prepared, err := i.Dir.PrepareKept(v)
	if err != nil {
		return installation{}, tool.Errorf(tool.CodeUnavailable, "%w", err).Of("", v.Name)
	}
	return i.finish(ctx, installation{Plan: plan}, prepared, signed.Manifest)
}
