package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutPush = `Push a package to a repository of an OCI registry, under the tag of its version unless REF names
another. REF is oci://HOST/REPOSITORY[:TAG]. Credentials are those of Docker's configuration, which
docker login, podman login and others write.

What the registry has already is not sent again. A tag that another package has stays as it is,
unless --force moves it: who has installed a version expects that it does not change.`

func newPluginPushCommand(s *session.Session) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "push FILE REF",
		Short:   "Push a package to a registry",
		Long:    aboutPush,
		Example: `  toolhost plugin push dist/hello-1.2.0.tar oci://ghcr.io/acme/hello`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := pack.ParseTarget(args[1])
			if err != nil {
				return exit.With(exit.BadUsage, err)
			}
			return pushFile(cmd.Context(), s, args[0], target, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "move a tag that another package has")
	return cmd
}

func pushFile(ctx context.Context, s *session.Session, file string, target *pack.Target, force bool) (err error) {
	tar, err := pluginpackage.OpenTar(file)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	defer func() { err = errors.Join(err, tar.Close()) }()
	p, err := pluginpackage.Read(ctx, tar, tar.Root())
	if err != nil {
		return exit.With(exit.BadUsage, fmt.Errorf("%s: %w", file, err))
	}
	pushed, err := push(ctx, s, target, p, force)
	if err != nil {
		return err
	}
	if s.Flags.JSON {
		return s.Out.JSON(pushed)
	}
	s.Out.Printf("pushed %s\n", pushed.Reference)
	return nil
}

// push pushes a package, and shows on a terminal how far it is.
func push(ctx context.Context, s *session.Session, target *pack.Target, p *pluginpackage.Package, force bool) (pack.Pushed, error) {
	var progress func(done, total int64)
	if s.Err.Terminal() {
		shown := int64(-1)
		progress = func(done, total int64) {
			if percent := done * 100 / max(total, 1); percent != shown {
				shown = percent
				s.Err.Printf("\rpushing %s %s, %d %% of %s", p.Manifest.Name, p.Manifest.Version, percent, output.Size(total))
			}
		}
		defer s.Err.Printf("\n")
	}
	out, err := target.Push(ctx, p, force, progress)
	switch {
	case errors.Is(err, pack.ErrTaken):
		return out, tool.Errorf(tool.CodePermissionDenied, "%w", err)
	case err != nil && ctx.Err() == nil:
		return out, exit.With(exit.Failed, err)
	}
	return out, err
}
