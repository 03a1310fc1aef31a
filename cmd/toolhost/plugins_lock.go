package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lockName is the lock's, beside the configuration file.
const lockName = "toolhost.lock"

// lockPath is where the lock is, or would be.
func (a *app) lockPath() (string, error) {
	path, _, err := a.configPath()
	return filepath.Join(filepath.Dir(path), lockName), err
}

func (a *app) pluginsLockCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Pin the plugins that are there now: nothing else runs any more",
		Long: `Start every plugin once, and write down in toolhost.lock, beside the configuration
file, the SHA-256 of its binary, the digest of its tools' definitions, and its version.
Where that file is, anything else does not run. To take it back, remove the file.

A plugin that does not start is told of and left out. What has changed is printed: read
it before you trust it.

With --check nothing is written, and the exit status is 1 where the plugins are not as
pinned.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.lockPlugins(cmd.Context(), check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "compare with the lock that is there, and write nothing")
	return cmd
}

// lockChange is what plugins lock --json prints.
type lockChange struct {
	File        string                `json:"file"`
	Plugins     int                   `json:"plugins"`
	Differences []lockfile.Difference `json:"differences"`
}

func (a *app) lockPlugins(ctx context.Context, check bool) error {
	path, err := a.lockPath()
	if err != nil {
		return err
	}
	before, err := lockfile.Read(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case check && missing:
		return &failure{exitFailed, fmt.Errorf("there is no %s: make it with toolhost plugins lock", sanitize.Text(path))}
	case check && err != nil:
		return &failure{exitFailed, err}
	case err != nil && !missing:
		a.err.printf("toolhost: %s is not read, and written anew: %s\n", sanitize.Text(path), firstLine(err.Error()))
	}
	now, err := a.inspect(ctx)
	if err != nil {
		return err
	}
	change := lockChange{path, len(now.Plugins), append([]lockfile.Difference{}, lockfile.Compare(before, now)...)}
	if !check {
		if err := now.Write(path); err != nil {
			return err
		}
		a.tellDaemon(ctx)
	}
	if err := a.showLock(change, check); err != nil {
		return err
	}
	if check && len(change.Differences) > 0 {
		return &failure{exitFailed, fmt.Errorf("the plugins are not as %s pins them: if this is what you want to run, toolhost plugins lock", lockName)}
	}
	return nil
}

// inspect starts every plugin, from a copy that nobody can write to, and asks it what
// it is.
func (a *app) inspect(ctx context.Context) (*lockfile.Lock, error) {
	var r host.Recorder
	options := func() ([]host.Option, func(), error) {
		return []host.Option{host.WithLocks(), host.WithRecorder(&r)}, func() {}, nil
	}
	l, _, err := a.openLocal(ctx, a.namedDirs(), needs{options: options, uncached: true})
	if err != nil {
		return nil, err
	}
	for _, fault := range l.faults {
		a.warn(fault)
	}
	return r.Lock(), l.close(ctx)
}

func (a *app) showLock(c lockChange, check bool) error {
	if a.json {
		return a.out.json(c)
	}
	a.out.printf("%s", sanitize.Text(lockfile.Render(c.Differences)))
	switch {
	case check && len(c.Differences) == 0:
		a.out.printf("%d plugins are as pinned in %s\n", c.Plugins, sanitize.Text(c.File))
	case !check:
		a.out.printf("%d plugins are pinned in %s\n", c.Plugins, sanitize.Text(c.File))
	}
	return nil
}

// tellDaemon has a daemon try what was refused before the lock was written. Its own log
// has what it makes of it.
func (a *app) tellDaemon(ctx context.Context) {
	if r, ok := a.daemon(ctx, a.namedDirs(), needs{}); ok {
		if err := r.Reload(ctx); err != nil {
			a.warn(tool.AsError(err))
		}
	}
}
