package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutLock = `Start every plugin once, and write the SHA-256 of its binary, the digest of its tools'
definitions and its version to toolhost.lock, next to the configuration file or where its
lock: says. From then on nothing else runs. The changes are printed: read them before you
trust them.

A plugin that does not start keeps its previous pin, and the exit status is 1. Disabled
plugins are not started, and keep their pins too.

With --check nothing is written, and nothing starts whose binary is not as pinned. The
exit status is 1 if the plugins in the directories are not those that are pinned. Use it
first, to see what writing the lock would accept before that runs.

Your state directory records which plugin directories are pinned, and by which file: if the
lock is removed, nothing in them starts, whatever the current directory. --off unpins them:
it removes the lock and the record. As that lets anything in them run, it needs --yes.`

// lockCommand is toolhost plugins lock.
type lockCommand struct {
	s               *session.Session
	check, off, yes bool
	rules           pins.Rules
}

func newPluginsLockCommand(s *session.Session) *cobra.Command {
	c := lockCommand{s: s}
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Pin the installed plugins: nothing else runs from then on",
		Long:  aboutLock,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.check, "check", false, "compare with the existing lock, and write nothing")
	flags.BoolVar(&c.off, "off", false, "unpin the plugin directories")
	flags.BoolVar(&c.yes, "yes", false, "with --off: confirm")
	return cmd
}

func (c *lockCommand) run(ctx context.Context) (err error) {
	c.rules, err = c.s.LockRules(c.s.Settings())
	switch {
	case err != nil:
		return err
	case c.check && c.off:
		return exit.Usage("--check and --off exclude each other", "leave one out")
	case c.yes && !c.off:
		return exit.Usage("--yes goes with --off", "leave it out")
	case c.off:
		return c.unlock(ctx)
	case c.check:
		return c.compare(ctx)
	}
	return c.lock(ctx)
}

// lockReport is the output of plugins lock --json.
type lockReport struct {
	File        string                `json:"file"`
	Plugins     int                   `json:"plugins"`
	Differences []lockfile.Difference `json:"differences"`
	// Failed are plugins that could not be pinned as they are now.
	Failed []unpinned `json:"failed"`
}

// unpinned is a plugin that did not start, or could not be examined.
type unpinned struct {
	Plugin string `json:"plugin"`
	// Kept reports whether the plugin keeps its previous pin.
	Kept bool `json:"kept"`
}

func (u unpinned) String() string {
	if u.Kept {
		return u.Plugin + " (it keeps its previous pin)"
	}
	return u.Plugin + " (it is not pinned)"
}

// lock writes the lock.
func (c *lockCommand) lock(ctx context.Context) error {
	file := c.rules.File
	if c.rules.Off {
		return exit.Usage(sanitize.Text(c.s.Settings().Config.File)+" says lock: off", "say lock: required there, or remove the key")
	}
	before, err := lockfile.Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.s.Err.Printf("toolhost: %s cannot be read, and is replaced: %s\n", sanitize.Text(file), output.FirstLine(err.Error()))
	}
	found, err := inspect(ctx, c.s, host.WithLocks())
	if err != nil {
		return err
	}
	now, failed := found.pinned(before)
	if err := now.Write(file); err != nil {
		return err
	}
	kept, notKept := pins.Pin(file, c.s.Settings().Dirs.Paths)
	c.reloadDaemon(ctx)
	report := lockReport{
		File: file, Plugins: len(now.Plugins),
		Differences: append([]lockfile.Difference{}, lockfile.Compare(before, now)...), Failed: append([]unpinned{}, failed...),
	}
	if err := c.print(report, "%d plugins are pinned in %s\n"); err != nil {
		return err
	}
	switch {
	case notKept != nil:
		return exit.With(exit.Failed,
			fmt.Errorf("the plugins are pinned, but other processes do not know that the lock is required: %w", notKept))
	case !kept:
		c.s.Notef("without a state directory (HOME is not set) other processes do not know of the lock: " +
			"say lock: required in the configuration")
	}
	if len(failed) > 0 {
		parts := make([]string, len(failed))
		for i, f := range failed {
			parts[i] = f.String()
		}
		return exit.With(exit.Failed, fmt.Errorf("some plugins could not be pinned as they are now: %s", strings.Join(parts, ", ")))
	}
	return nil
}

// print prints a report; summary is a format for people, or empty.
func (c *lockCommand) print(r lockReport, summary string) error {
	if c.s.Flags.JSON {
		return c.s.Out.JSON(r)
	}
	c.s.Out.Printf("%s", sanitize.Text(lockfile.Render(r.Differences)))
	if summary != "" {
		c.s.Out.Printf(summary, r.Plugins, sanitize.Text(r.File))
	}
	return nil
}

// reloadDaemon makes a daemon try what was refused before the lock was written. The daemon logs
// the outcome.
func (c *lockCommand) reloadDaemon(ctx context.Context) {
	if d := c.s.Daemon(ctx, session.Needs{}); d != nil {
		if err := d.Reload(ctx); err != nil {
			c.s.Warn(tool.AsError(err))
		}
	}
}
