package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (a *app) auditSearchCommand(o *auditOptions) *cobra.Command {
	var filter audit.Filter
	var code, since string
	cmd := &cobra.Command{
		Use:   "search [TEXT]",
		Short: "Show the lines of the log that fit",
		Long: `Show the lines of the log that fit, the oldest first.

Conditions that are given all have to hold. TEXT is searched in names, arguments
and messages, in upper or lower case.`,
		Example: `  toolhost audit search --code permission_denied --since 24h
  toolhost audit search --tool fs.write --since 2026-01-31 notes.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%s takes one text, not %d words: put it in quotes", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if filter.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if filter.Limit < 0 {
				return usage(fmt.Sprintf("--limit %d is below zero", filter.Limit), "give the number of lines to show, or 0 for all")
			}
			if len(args) > 0 {
				filter.Text = args[0]
			}
			filter.Code = tool.Code(code)
			return a.searchAudit(cmd.Context(), *o, filter)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Tool, "tool", "", "only calls of the tool of this `NAME`")
	flags.StringVar(&filter.Caller, "caller", "", "only calls of the caller with this `ID`, or a beginning of it")
	flags.StringVar(&code, "code", "", "only calls that ended with this `CODE`, such as permission_denied; ok: those that succeeded")
	flags.StringVar(&since, "since", "", "only lines since a `TIME`, such as 2026-01-31 or 2026-01-31T12:00:00Z, or of the last 24h")
	flags.IntVar(&filter.Limit, "limit", 0, "only the newest `N` lines that fit; 0: all")
	a.completeFlag(cmd, "tool", toolNames)
	return cmd
}

// timeLayouts are how a time may be given. Without a zone it is local.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly}

// parseSince reads a time, or a duration before now. Empty: since ever.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage(fmt.Sprintf("--since %q is neither a time nor a duration", s), "use 2026-01-31, 2026-01-31T12:00:00Z or 24h")
}

func (a *app) searchAudit(ctx context.Context, o auditOptions, filter audit.Filter) error {
	path, err := a.auditPath(o)
	if err != nil {
		return err
	}
	n, err := a.printEntries(audit.Search(ctx, path, filter))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.noCalls(path)
		return nil
	case err == nil && n == 0:
		a.err.printf("no line fits\n")
	}
	return err
}
