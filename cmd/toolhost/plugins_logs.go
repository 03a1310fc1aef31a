package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutLogs = `Show the newest output of a plugin in the daemon: what it logs and writes to standard
error, whatever the daemon's log level is, and what happens to it. The daemon keeps at most
1,000 lines and 128 KiB of each plugin, over all its processes. With --follow, lines are
shown as they come; lines that are missing between two of them are counted.`

func newPluginsLogsCommand(s *session.Session) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:               "logs NAME",
		Short:             "Show what a plugin in the daemon has written",
		Long:              aboutLogs,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showLogs(cmd.Context(), s, args[0], follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on showing lines as they come")
	return cmd
}

func showLogs(ctx context.Context, s *session.Session, name string, follow bool) error {
	if _, err := s.Logger(); err != nil {
		return err
	}
	d := s.Daemon(ctx, session.Needs{})
	if d == nil {
		if err := s.Unread(); err != nil {
			return err
		}
		return s.NoDaemon("any other command shows what plugins write with --log-level info")
	}
	if _, ok := session.Status(d.Plugins(), name); !ok {
		return unknownPlugin(d, name)
	}
	last := uint64(0)
	return d.Logs(ctx, name, follow, func(l plugin.Line) error {
		missed := l.Number - last - 1
		if last == 0 {
			missed = 0 // older lines are not kept
		}
		last = l.Number
		if s.Flags.JSON {
			text, err := json.Marshal(l)
			if err != nil {
				return err
			}
			_, err = sanitize.JSON(s.Out).Write(append(text, '\n'))
			return err
		}
		if missed > 0 {
			s.Out.Printf("(%d lines are missing)\n", missed)
		}
		source := output.NumberOrDash(l.PID)
		if l.Host {
			source = "host"
		}
		s.Out.Printf("%s %-7s %-5s %s%s\n", l.Time.Local().Format("2006-01-02 15:04:05.000"), source,
			sanitize.Line(l.Level, 8), sanitize.Line(l.Text, 0), callOf(l))
		return s.Out.Err()
	})
}

func callOf(l plugin.Line) string {
	if l.Call == "" {
		return ""
	}
	return fmt.Sprintf(" (call %s)", sanitize.Line(l.Call, 64))
}
