package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/tempdir"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const packagesHelp = "a directory (./host), one with those below (./host/...), a Go file, an import path or " +
	"a package name; default: ./..., all of the workspace's module"

// workTimeout is how long a tool that compiles or tests packages may take.
const workTimeout = 10 * time.Minute

// answerReserve is left of the deadline of such a tool to end what runs and to answer.
const answerReserve = 5 * time.Second

// workOptions returns the options of a tool that works on packages.
func workOptions(title string) []pluginsdk.Option {
	return []pluginsdk.Option{
		pluginsdk.Title(title), pluginsdk.Cautious(), pluginsdk.Categories("checks"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Timeout(workTimeout),
		pluginsdk.Argument("package", `{"maxLength": 512}`),
		pluginsdk.Argument("tags", `{"maxItems": 16, "items": {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9_.]+$"}}`),
	}
}

// work lets do work with a temporary directory of its own, when there is a slot for it.
func (e *evaluator) work(ctx context.Context, do func(temp string) error) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	temp, remove, err := tempdir.New()
	if err != nil {
		return err
	}
	defer remove()
	if err := os.Mkdir(filepath.Join(temp, "tmp"), 0o700); err != nil {
		return err
	}
	return do(temp)
}

// tagFlags returns the flags of the go command for build tags.
func tagFlags(tags []string) []string {
	if len(tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(tags, ",")}
}
