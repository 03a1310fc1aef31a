package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutLogs = `Show the newest output of the plugins in the daemon, or of one: what they log and write to
standard error, whatever the daemon's log level is, and what happens to them. The daemon keeps at
most 1,000 lines and 128 KiB of each plugin, over all its processes. With --follow, lines are
shown as they come; lines that are missing between two of them are counted. The daemon's own log
is its standard error.`

// logsCommand is toolhost logs.
type logsCommand struct {
	s              *session.Session
	since          string
	follow, events bool

	from    time.Time
	several bool // plugins are shown, each with its name
	mu      sync.Mutex
	last    map[string]uint64 // the number of the newest line of each plugin
}

func newLogsCommand(s *session.Session) *cobra.Command {
	c := &logsCommand{s: s, last: map[string]uint64{}}
	cmd := &cobra.Command{
		Use:   "logs [PLUGIN]",
		Short: "Show what plugins have written, and what happened to them",
		Long:  aboutLogs,
		Example: `  toolhost logs fs -f
  toolhost logs --events --since 1h`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "go on showing lines as they come")
	cmd.Flags().StringVar(&c.since, "since", "", "only lines since this `TIME`, such as 2026-01-31T12:00:00Z, or 10m")
	cmd.Flags().BoolVar(&c.events, "events", false, "only what happened to plugins: starts, crashes, upgrades")
	return cmd
}

// logLine is a line as it is printed.
type logLine struct {
	Plugin string `json:"plugin"`
	plugin.Line
}

func (c *logsCommand) run(ctx context.Context, names []string) (err error) {
	if c.from, err = parseTime("--since", c.since); err != nil {
		return err
	}
	if _, err := c.s.Logger(); err != nil {
		return err
	}
	d := c.s.Daemon(ctx)
	if d == nil {
		if err := c.s.Unread(); err != nil {
			return err
		}
		return c.s.NoDaemon("any other command shows what plugins write with --log-level info")
	}
	if c.several = len(names) == 0; c.several {
		for _, p := range d.State().Plugins {
			names = append(names, p.Name)
		}
	} else if _, ok := session.Status(d.State().Plugins, names[0]); !ok {
		return unknownPlugin(d, names[0])
	}
	var kept []logLine
	show := c.print
	if !c.follow {
		show = func(l logLine) error {
			kept = append(kept, l)
			return ctx.Err()
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error {
			return d.Logs(ctx, name, c.follow, func(l plugin.Line) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				if l.Time.Before(c.from) || c.events && !l.Host {
					c.last[name] = l.Number
					return nil
				}
				return show(logLine{name, l})
			})
		})
	}
	err = group.Wait()
	slices.SortStableFunc(kept, func(a, b logLine) int { return a.Time.Compare(b.Time) })
	for _, l := range kept {
		if err == nil {
			err = c.print(l)
		}
	}
	return err
}

// print prints a line, and says how many are missing before it.
func (c *logsCommand) print(l logLine) error {
	last := c.last[l.Plugin]
	missed := l.Number - last - 1
	if last == 0 {
		missed = 0 // older lines are not kept
	}
	c.last[l.Plugin] = l.Number
	if c.s.Flags.JSON {
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		_, err = sanitize.JSON(c.s.Out).Write(append(text, '\n'))
		return err
	}
	if missed > 0 && !c.events {
		c.s.Out.Printf("(%d lines are missing)\n", missed)
	}
	source := output.NumberOrDash(l.PID)
	if l.Host {
		source = "host"
	}
	if c.several {
		source = fmt.Sprintf("%-15s %s", l.Plugin, source)
	}
	call := ""
	if l.Call != "" {
		call = fmt.Sprintf(" (call %s)", sanitize.Line(l.Call, 64))
	}
	c.s.Out.Printf("%s %-7s %-5s %s%s\n", l.Time.Local().Format("2006-01-02 15:04:05.000"), source,
		sanitize.Line(l.Level, 8), sanitize.Line(l.Text, 0), call)
	return c.s.Out.Err()
}
