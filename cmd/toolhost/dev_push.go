package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// pushFile pushes a package that is finished.
func (c *packCommand) pushFile(ctx context.Context, file string) (err error) {
	if c.push == "" {
		return exit.Usage(sanitize.Text(file)+" is a file, and not the directory of a plugin", "--push REF sends a package to a registry")
	}
	target, err := pack.ParseTarget(c.push)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	tar, err := pluginpackage.OpenTar(file)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	defer func() { err = errors.Join(err, tar.Close()) }()
	p, err := pluginpackage.Read(ctx, tar, tar.Root())
	if err != nil {
		return exit.With(exit.BadUsage, fmt.Errorf("%s: %w", file, err))
	}
	pushed, err := push(ctx, c.s, target, p, c.force)
	if err != nil {
		return err
	}
	return c.s.Answer(pushed, "pushed %s\n", pushed.Reference)
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
