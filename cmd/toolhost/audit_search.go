package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditSearch is toolhost audit.
type auditSearch struct {
	log               *auditFile
	filter            audit.Filter
	code, since, kind string
}

func newAuditSearchCommand(log *auditFile) *cobra.Command {
	c := auditSearch{log: log}
	cmd := &cobra.Command{
		Use:   "search [TEXT]",
		Short: "Show the lines of the log that match",
		Long: `Show the lines of the log that match, the oldest first.

A line has to match every condition. TEXT is searched in names, arguments and messages,
in upper or lower case.`,
		Example: `  toolhost audit --code permission_denied --since 24h
  toolhost audit --tool fs.write --since 2026-01-31 notes.txt
  toolhost audit --caller cli --limit 10
  toolhost audit --via mcp --client claude-code
  toolhost audit --kind admin --since 24h
  toolhost audit --unended`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%s takes one text, not %d words: put it in quotes", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.filter.Tool, "tool", "", "only calls of the tool with this `NAME`")
	flags.StringVar(&c.filter.Caller, "caller", "", "only calls of the caller with this `NAME`, such as cli")
	flags.StringVar(&c.filter.Account, "account", "",
		"only calls that the host of a fleet with this `NAME` made for its callers")
	flags.StringVar(&c.filter.Via, "via", "", "only calls that came in by this `WAY`, such as mcp")
	flags.StringVar(&c.filter.Client, "client", "",
		"only calls of the program with this `NAME`, or with a name that begins so, such as claude-code")
	flags.StringVar(&c.filter.Session, "session", "",
		"only calls of the session with this `ID`, or with an ID that begins so")
	flags.StringVar(&c.code, "code", "", "only calls that ended with this `CODE`, such as permission_denied, or ok for success")
	flags.StringVar(&c.since, "since", "",
		"only lines since this `TIME`, such as 2026-01-31 or 2026-01-31T12:00:00Z, or 24h for the last day")
	flags.StringVar(&c.kind, "kind", "", "only lines of this `KIND`: call, or admin for what was changed, answered or came in")
	flags.BoolVar(&c.filter.Unended, "unended", false,
		"only calls that began and have no end line: in progress, or killed with their host")
	flags.IntVar(&c.filter.Limit, "limit", 0, "only the newest `N` lines that match; 0: all")
	completeFlag(log.s, cmd, "tool", toolNames)
	_ = cmd.RegisterFlagCompletionFunc("code", cobra.FixedCompletions(auditCodes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"call", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("caller", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return callerNames(log.s), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// auditKinds are the events of each kind of lines.
var auditKinds = map[string][]string{"": nil, "call": {audit.Begin, audit.Question, audit.End}, "admin": {audit.Admin}}

// auditCodes returns the codes with which calls end.
func auditCodes() []string {
	all := []string{string(audit.CodeOK)}
	for _, r := range errorcode.Table {
		all = append(all, string(r.Code))
	}
	return all
}

func (c *auditSearch) run(ctx context.Context, args []string) (err error) {
	if c.filter.Since, err = parseSince(c.since, time.Now()); err != nil {
		return err
	}
	if c.filter.Limit < 0 {
		return exit.Usage(fmt.Sprintf("--limit %d is below zero", c.filter.Limit), "give the number of lines to show, or 0 for all")
	}
	if c.filter.Unended && c.code != "" {
		return exit.Usage("--unended and --code exclude each other: a call that has not ended has no code", "leave one out")
	}
	events, ok := auditKinds[c.kind]
	if c.filter.Events = events; !ok {
		return exit.Usage(fmt.Sprintf("--kind %q is not a kind of lines", c.kind), "use call or admin")
	}
	if len(args) > 0 {
		c.filter.Text = args[0]
	}
	if all := auditCodes(); c.code != "" && !slices.Contains(all, c.code) {
		hint := "use " + strings.Join(all, ", ")
		if near := suggest.Nearest(c.code, all, 3); len(near) > 0 {
			hint = output.DidYouMean(near)
		}
		return exit.Usage(fmt.Sprintf("--code %q is not a code with which calls end", c.code), hint)
	}
	c.filter.Code = tool.Code(c.code)
	path, err := c.log.path()
	if err != nil {
		return err
	}
	n, err := c.log.print(audit.Search(ctx, path, c.filter))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.log.empty(path, true)
	case err == nil && n == 0:
		c.log.s.Err.Printf("no line matches\n")
	}
	return err
}

// timeLayouts are the accepted forms of a time. A time without a zone is local.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly,
}

// parseSince parses a time, or a duration before now. The zero time stands for no limit.
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
	return time.Time{}, exit.Usage(fmt.Sprintf("--since %q is neither a time nor a duration", s),
		"use 2026-01-31, 2026-01-31T12:00:00Z or 24h")
}
