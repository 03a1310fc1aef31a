package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutLock = `Start every plugin once, and write down in toolhost.lock, beside the configuration
file or where its lock: says, the SHA-256 of its binary, the digest of its tools'
definitions, and its version. From then on anything else does not run. What has changed is
printed: read it before you trust it.

A plugin that does not start keeps the pin that it had, and the exit status is 1. Plugins
that are disabled are not started, and keep theirs too.

With --check nothing is written, and nothing is started whose binary is not as pinned. The
exit status is 1 where the plugins in the directories are not those that are pinned. To
see what writing the lock would accept before it runs, begin with that.

That plugin directories are pinned, and by which file, is kept in your state directory: if
the lock is removed, nothing in them starts, whatever the current directory. With --off
they are not pinned any more: the lock is removed, and so is what is kept. As that lets
anything in them run, it needs --yes.`

func (a *app) pluginsLockCommand() *cobra.Command {
	var check, off, yes bool
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Pin the plugins that are there now: nothing else runs any more",
		Long:  aboutLock,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, err := a.lockRules()
			switch {
			case err != nil:
				return err
			case check && off:
				return usage("--check and --off are one or the other", "leave one out")
			case yes && !off:
				return usage("--yes goes with --off", "leave it out")
			case off:
				return a.unlockPlugins(cmd.Context(), rules, yes)
			case check:
				return a.checkLock(cmd.Context(), rules)
			}
			return a.lockPlugins(cmd.Context(), rules)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "compare with the lock that is there, and write nothing")
	flags.BoolVar(&off, "off", false, "pin nothing any more")
	flags.BoolVar(&yes, "yes", false, "with --off: do it")
	return cmd
}

// lockChange is what plugins lock --json prints.
type lockChange struct {
	File        string                `json:"file"`
	Plugins     int                   `json:"plugins"`
	Differences []lockfile.Difference `json:"differences"`
	// Failed are plugins that could not be pinned as they are now.
	Failed []unpinned `json:"failed"`
}

// unpinned is a plugin that did not start, or could not be looked at.
type unpinned struct {
	Plugin string `json:"plugin"`
	// Kept: it keeps the pin that it had.
	Kept bool `json:"kept"`
}

func (u unpinned) String() string {
	if u.Kept {
		return u.Plugin + " (it keeps the pin that it had)"
	}
	return u.Plugin + " (it is not pinned)"
}

// lockPlugins writes the lock.
func (a *app) lockPlugins(ctx context.Context, rules lockRules) error {
	if rules.off {
		return usage(sanitize.Text(a.configured().File)+" says lock: off", "say lock: required there, or remove the key")
	}
	before, err := lockfile.Read(rules.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.err.printf("toolhost: %s is not read, and written anew: %s\n", sanitize.Text(rules.file), firstLine(err.Error()))
	}
	found, err := a.inspect(ctx, host.WithLocks())
	if err != nil {
		return err
	}
	now, failed := found.pinned(before)
	if err := now.Write(rules.file); err != nil {
		return err
	}
	kept, err := recordLock(rules.file, a.namedDirs().dirs, true)
	a.tellDaemon(ctx)
	change := lockChange{
		File: rules.file, Plugins: len(now.Plugins),
		Differences: append([]lockfile.Difference{}, lockfile.Compare(before, now)...), Failed: append([]unpinned{}, failed...),
	}
	if shown := a.showLock(change, "%d plugins are pinned in %s\n"); shown != nil {
		return shown
	}
	switch {
	case err != nil:
		return &failure{exitFailed, fmt.Errorf("the plugins are pinned, but another process does not know that the lock is required: %w", err)}
	case !kept:
		a.notef("without a state directory (HOME is not set) another process does not know of the lock: say lock: required in the configuration")
	}
	if len(failed) > 0 {
		return &failure{exitFailed, fmt.Errorf("not every plugin could be pinned as it is now: %s", joined(failed))}
	}
	return nil
}

func joined(failed []unpinned) string {
	parts := make([]string, len(failed))
	for i, f := range failed {
		parts[i] = f.String()
	}
	return strings.Join(parts, ", ")
}

// inspection is what the plugins of the directories are.
type inspection struct {
	recorder host.Recorder
	plugins  []plugin.Status
	// unseen: a directory could not be read, and what is in it is not known.
	unseen bool
	// skipped are the names of plugins whose files are there and cannot be run.
	skipped map[string]bool
}

// inspect starts the plugins that the options let run, from copies that nobody can write
// to, and asks them what they are.
func (a *app) inspect(ctx context.Context, opts ...host.Option) (*inspection, error) {
	out := &inspection{skipped: map[string]bool{}}
	options := func() ([]host.Option, func(), error) {
		return append(opts, host.WithRecorder(&out.recorder)), func() {}, nil
	}
	l, _, err := a.openLocal(ctx, a.namedDirs(), needs{options: options, uncached: true})
	if err != nil {
		return nil, err
	}
	for _, fault := range l.faults {
		a.warn(fault)
		out.unseen = out.unseen || fault.Plugin == ""
	}
	for _, s := range l.Skipped() {
		out.skipped[plugin.NameOf(filepath.Base(s.Path))] = true
	}
	out.plugins = l.Plugins()
	return out, l.close(ctx)
}

// pinned is the lock of what was found. A plugin that did not start, was not to be
// started, or could not be looked at keeps the pin that it had; failed are those of which
// more was expected.
func (i *inspection) pinned(before *lockfile.Lock) (now *lockfile.Lock, failed []unpinned) {
	now = i.recorder.Lock()
	if before == nil {
		before = &lockfile.Lock{}
	}
	there := map[string]bool{}
	for _, s := range i.plugins {
		there[s.Name] = true
		_, said := now.Plugins[s.Name]
		if said && s.State != plugin.Refused {
			continue
		}
		delete(now.Plugins, s.Name)
		kept := i.keep(now, before, s.Name)
		if s.State != plugin.Disabled {
			failed = append(failed, unpinned{s.Name, kept})
		}
	}
	for _, name := range before.Names() {
		if !there[name] && (i.unseen || i.skipped[name]) {
			failed = append(failed, unpinned{name, i.keep(now, before, name)})
		}
	}
	now.KeepPlatforms(before)
	return now, failed
}

func (*inspection) keep(now, before *lockfile.Lock, name string) bool {
	e, ok := before.Plugins[name]
	if ok {
		now.Plugins[name] = e
	}
	return ok
}

func (a *app) showLock(c lockChange, summary string) error {
	if a.json {
		return a.out.json(c)
	}
	a.out.printf("%s", sanitize.Text(lockfile.Render(c.Differences)))
	if summary != "" {
		a.out.printf(summary, c.Plugins, sanitize.Text(c.File))
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
