package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutLogs = `Show what plugins have logged and written to standard error, and what happened to them: starts
and why, ends, crashes with the last words, upgrades, what the sandbox and locks refused, what was
accepted, and who answered questions. That is in files of your state directory, which the daemon
and commands write that run plugins themselves, whatever their log level is: of each plugin 8 MiB
of lines and 512 KiB of events, and 128 MiB together, of which the oldest go.
The daemon's own log is its standard error.`

// defaultLines is how many lines are shown if nothing says how many.
const defaultLines = 1000

// logsCommand is toolhost logs.
type logsCommand struct {
	s              *session.Session
	since          string
	most           int
	follow, events bool

	name string // empty: of all plugins
	from time.Time
}

func newLogsCommand(s *session.Session) *cobra.Command {
	c := &logsCommand{s: s}
	cmd := &cobra.Command{
		Use:   "logs [PLUGIN]",
		Short: "Show what plugins have written, and what happened to them",
		Long:  aboutLogs,
		Example: `  toolhost logs fs -f
  toolhost logs --events --since 1h`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.name = args[0]
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "go on showing lines as they come")
	cmd.Flags().StringVar(&c.since, "since", "", "only lines since this `TIME`, such as 2026-01-31T12:00:00Z, or 10m")
	cmd.Flags().IntVarP(&c.most, "lines", "n", 0, "only the newest `N` lines (default 1000, or with --since all)")
	cmd.Flags().BoolVar(&c.events, "events", false, "only what happened to plugins: starts, crashes, upgrades")
	return cmd
}

func (c *logsCommand) run(ctx context.Context) (err error) {
	if c.from, err = parseTime("--since", c.since); err != nil {
		return err
	}
	if c.most <= 0 {
		c.most = defaultLines
		if c.since != "" {
			c.most = 1 << 30
		}
	}
	if _, err := c.s.Logger(); err != nil {
		return err
	}
	d := c.s.Daemon(ctx)
	if d == nil {
		dir, err := state.Dir()
		if err != nil {
			return err
		}
		return c.fromFiles(ctx, nil, filepath.Join(dir, journal.Folder))
	}
	if dir := d.State().Logs; dir != "" {
		return c.fromFiles(ctx, d, dir)
	}
	return c.fromDaemon(ctx, d)
}

// fromFiles shows what the files have, and then, if it is wanted, what is new in them.
func (c *logsCommand) fromFiles(ctx context.Context, d *control.Client, dir string) error {
	files := journal.NewReader(dir)
	defer files.Close()
	files.Plugin, files.Since, files.Events = c.name, c.from, c.events
	tick := time.NewTicker(journal.Pace)
	defer tick.Stop()
	newest, err := files.Newest(c.most)
	if c.name != "" && !files.Found() && !c.isThere(d) {
		if d != nil {
			return unknownPlugin(d, c.name)
		}
		err = errors.Join(err, tool.Errorf(tool.CodeNotFound, "nothing is kept of a plugin %.64q", c.name).
			Fix("see toolhost plugins for the names"))
		if !c.follow {
			return err
		}
	}
	for {
		if err != nil {
			c.s.Warn(tool.AsError(err))
		}
		for _, e := range newest {
			if err := c.print(e); err != nil {
				return err
			}
		}
		if !c.follow {
			if len(newest) == 0 && err == nil && c.name == "" && !c.s.Flags.JSON {
				c.s.Notef("no lines to show: what plugins write, and what happens to them, is kept in %s", dir)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		newest, err = files.Newest(1 << 30)
	}
}

// isThere reports whether the daemon has the plugin.
func (c *logsCommand) isThere(d *control.Client) bool {
	if d == nil {
		return false
	}
	_, ok := session.Status(d.State().Plugins, c.name)
	return ok
}

// fromDaemon shows what a daemon has in memory that cannot write files.
func (c *logsCommand) fromDaemon(ctx context.Context, d *control.Client) error {
	if c.name != "" && !c.isThere(d) {
		return unknownPlugin(d, c.name)
	}
	var mu sync.Mutex
	var kept []journal.Entry
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range d.State().Plugins {
		if c.name != "" && p.Name != c.name {
			continue
		}
		group.Go(func() error {
			return d.Logs(ctx, p.Name, c.follow, func(e journal.Entry) error {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case e.Time.Before(c.from) || c.events && e.Event == "":
				case c.follow:
					return c.print(e)
				default:
					kept = append(kept, e)
				}
				return nil
			})
		})
	}
	err := group.Wait()
	slices.SortStableFunc(kept, func(a, b journal.Entry) int { return a.Time.Compare(b.Time) })
	for _, e := range kept[max(0, len(kept)-c.most):] {
		err = cmp.Or(err, c.print(e))
	}
	return err
}

// print prints a line.
func (c *logsCommand) print(e journal.Entry) error {
	if c.s.Flags.JSON {
		e.Number = 0
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = sanitize.JSON(c.s.Out).Write(append(text, '\n'))
		return err
	}
	source := output.NumberOrDash(e.PID)
	if e.Event != "" {
		source = sanitize.Line(e.Event, 16)
	}
	source = fmt.Sprintf("%-11s", source)
	if c.name == "" {
		source = fmt.Sprintf("%-15s %s", sanitize.Line(e.Plugin, 64), source)
	}
	call := ""
	if e.Call != "" {
		call = fmt.Sprintf(" (call %s)", sanitize.Line(e.Call, 64))
	}
	c.s.Out.Printf("%s %s %-5s %s%s\n", e.Time.Local().Format("2006-01-02 15:04:05.000"), source,
		sanitize.Line(e.Level, 8), sanitize.Line(e.Text, 0), call)
	return c.s.Out.Err()
}
