package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/auditindex"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditCommand is toolhost audit.
type auditCommand struct {
	log                      *auditFile
	filter                   audit.Filter
	lines, slowest           int
	code, since, until, kind string
	sum                      []string
	format                   string
}

func newAuditCommand(s *session.Session) *cobra.Command {
	c := auditCommand{log: &auditFile{s: s}}
	cmd := &cobra.Command{
		Use:   "audit [TEXT]",
		Short: "Read, search and follow the log of calls and administration",
		Long: `Show the lines of the audit log that match, the oldest first: who called which tool, who
approved the call, and how it ended. Without a condition these are the newest 20.

A line has to match every condition. TEXT is searched in names, arguments and messages,
in upper or lower case. A cautious or dangerous call has a line when it begins and one when
it ends, any other call one when it ends. A change of what may run, be called or come in has
a line of the event admin. "modified" marks a call whose arguments an approver has changed:
--json shows what ran (input) and what was asked for (asked_input).

--sum adds up the calls that match by these columns: SHARE is of the time of all, P50 to P99
are estimates. What a question to a large log needs is remembered in the cache, at first for
some seconds a gigabyte; TEXT is looked for in all of it.`,
		Example: `  toolhost audit -f
  toolhost audit --code permission_denied --since 24h
  toolhost audit --tool fs.write --since 2026-01-31 notes.txt
  toolhost audit --via mcp --client claude-code -n 10
  toolhost audit --kind admin --since 24h
  toolhost audit --slower-than 2s --phase queued
  toolhost audit --slowest 10 --since 24h
  toolhost audit --sum tool,caller --since 24h
  toolhost audit --sum hour,code --format csv
  toolhost audit --unended`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%s takes one text, not %d words: put it in quotes", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			conditions := len(args) > 0
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				conditions = conditions || f.Changed && f.Name != "lines" && f.Name != "follow" && f.Name != "format"
			})
			if len(args) > 0 {
				c.filter.Text = args[0]
			}
			if !cmd.Flags().Changed("lines") && (!conditions || c.filter.Follow) {
				c.lines = 20
			}
			return c.run(cmd.Context(), conditions, cmd.Flags().Changed("lines") && c.lines == 0)
		},
	}
	c.bind(s, cmd)
	cmd.AddCommand(newAuditShowCommand(c.log), newAuditVerifyCommand(c.log))
	return cmd
}

func (c *auditCommand) bind(s *session.Session, cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&c.log.file, "file", "", "log `FILE` to read "+auditDefault)
	flags := cmd.Flags()
	flags.BoolVarP(&c.filter.Follow, "follow", "f", false, "then show each new line that matches, until interrupted")
	flags.IntVarP(&c.lines, "lines", "n", 0, "only the newest `N` lines that match (default 20 without a condition and with -f, else all)")
	flags.StringVar(&c.since, "since", "",
		"only lines since this `TIME`, such as 2026-01-31 or 2026-01-31T12:00:00Z, or 24h for the last day")
	flags.StringVar(&c.until, "until", "", "only lines until this `TIME`")
	flags.StringVar(&c.filter.Tool, "tool", "", "only calls of the tool with this `NAME`")
	flags.StringVar(&c.code, "code", "", "only calls that ended with this `CODE`, such as permission_denied, or ok for success")
	flags.StringVar(&c.filter.Caller, "caller", "", "only calls of the caller with this `NAME`, such as cli")
	flags.StringVar(&c.filter.Client, "client", "",
		"only calls of the program with this `NAME`, or with a name that begins so, such as claude-code")
	flags.StringVar(&c.filter.Account, "account", "",
		"only calls that the host of a fleet with this `NAME` made for its callers")
	flags.StringVar(&c.filter.Session, "session", "",
		"only calls of the session with this `ID`, or with an ID that begins so")
	flags.StringVar(&c.filter.Via, "via", "", "only calls that came in by this `WAY`, such as mcp")
	flags.StringVar(&c.kind, "kind", "", "only lines of this `KIND`: call, or admin for what was changed, answered or came in")
	flags.BoolVar(&c.filter.Unended, "unended", false,
		"only calls that began and have no end line: in progress, or killed with their host")
	flags.DurationVar(&c.filter.SlowerThan, "slower-than", 0, "only calls that took this `DURATION`, such as 500ms, or more")
	flags.StringVar(&c.filter.Phase, "phase", "", "only calls that spent most of their time in this `PHASE`: "+strings.Join(audit.Phases, ", "))
	flags.IntVar(&c.slowest, "slowest", 0, "the `N` slowest calls that match, the slowest first")
	flags.StringSliceVar(&c.sum, "sum", nil, "add up the calls that match by these `COLUMNS`: "+strings.Join(auditindex.Columns(), ", "))
	flags.StringVar(&c.format, "format", "", "`FORMAT` of lines and sums: text, csv or jsonl (default text, or jsonl with --json)")
	completeFlag(s, cmd, "tool", toolNames)
	for name, words := range map[string][]string{"phase": audit.Phases, "sum": auditindex.Columns(), "format": {"text", "csv", "jsonl"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("code", cobra.FixedCompletions(auditCodes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"call", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("caller", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return callerNames(s), cobra.ShellCompDirectiveNoFileComp
	})
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

// parse completes the filter.
func (c *auditCommand) parse() (err error) {
	if c.filter.Since, err = parseTime("--since", c.since); err != nil {
		return err
	}
	if c.filter.Until, err = parseTime("--until", c.until); err != nil {
		return err
	}
	if c.filter.Limit = c.lines; c.lines < 0 {
		return exit.Usage(fmt.Sprintf("-n %d is below zero", c.lines), "give the number of lines to show")
	}
	if c.filter.Unended && (c.code != "" || c.filter.SlowerThan > 0 || c.filter.Phase != "") {
		return exit.Usage("--unended excludes --code, --slower-than and --phase: a call that has not ended has none of these", "leave one out")
	}
	events, ok := auditKinds[c.kind]
	if c.filter.Events = events; !ok {
		return exit.Usage(fmt.Sprintf("--kind %q is not a kind of lines", c.kind), "use call or admin")
	}
	if all := auditCodes(); c.code != "" && !slices.Contains(all, c.code) {
		return exit.Usage(fmt.Sprintf("--code %q is not a code with which calls end", c.code),
			output.Suggest(c.code, all, "use "+strings.Join(all, ", ")))
	}
	c.filter.Code = tool.Code(c.code)
	return nil
}

// check refuses what does not go together.
func (c *auditCommand) check() (auditFormat, error) {
	format, ok := map[string]auditFormat{"": asText, "text": asText, "csv": asCSV, "jsonl": asJSON}[c.format]
	if c.format == "" && c.log.s.Flags.JSON {
		format = asJSON
	}
	several := 0
	for _, set := range []bool{c.filter.Follow, c.filter.Unended, c.slowest != 0, len(c.sum) > 0} {
		if set {
			several++
		}
	}
	unknown := func(name string) bool { return !slices.Contains(auditindex.Columns(), name) }
	switch {
	case !ok:
		return "", exit.Usage(fmt.Sprintf("--format %q is not a format", c.format), "use text, csv or jsonl")
	case several > 1:
		return "", exit.Usage("--follow, --unended, --slowest and --sum exclude each other", "leave all but one out")
	case c.filter.SlowerThan < 0 || c.slowest < 0 || c.slowest > maxSlowest:
		return "", exit.Usage(fmt.Sprintf("--slower-than and --slowest take nothing below zero, and --slowest at most %d", maxSlowest), "")
	case c.filter.Phase != "" && !slices.Contains(audit.Phases, c.filter.Phase):
		return "", exit.Usage(fmt.Sprintf("--phase %q is not a phase of a call", c.filter.Phase), "use "+strings.Join(audit.Phases, ", "))
	case slices.ContainsFunc(c.sum, unknown) || len(c.sum) > auditindex.MaxColumns:
		return "", exit.Usage(fmt.Sprintf("--sum %q is not a list of columns", strings.Join(c.sum, ",")),
			fmt.Sprintf("use at most %d of %s", auditindex.MaxColumns, strings.Join(auditindex.Columns(), ", ")))
	case len(c.sum) > 0 && c.kind != "" && c.kind != "call":
		return "", exit.Usage("--sum adds up calls, of which there is no --kind "+c.kind, "leave --kind out")
	}
	return format, nil
}

// maxSlowest bounds what is kept in memory.
const maxSlowest = 10_000

// remembered reports whether the index answers the question sooner than reading the log from its end, and whether
// it is worth making it.
func (c *auditCommand) remembered() (asks, makes bool) {
	f := &c.filter
	named := f.Tool+f.Caller+string(f.Code) != "" || f.SlowerThan > 0 || !f.Until.IsZero()
	switch {
	case f.Follow || f.Unended:
		return false, false
	case c.slowest > 0 || len(c.sum) > 0:
		return true, true
	case f.Limit > 0 && f.SlowerThan == 0, f.Limit == 0 && !named && !f.Since.IsZero() && f.Text == "":
		return false, false
	}
	return true, named || !f.Since.IsZero()
}

// entries returns what is to be shown.
func (c *auditCommand) entries(ctx context.Context, r *audit.Reader, x *auditindex.Index) iter.Seq2[audit.Entry, error] {
	found := r.Search(ctx, c.filter, x.Places(c.filter)...)
	if c.slowest == 0 && c.filter.Limit == 0 {
		return found
	}
	return func(yield func(audit.Entry, error) bool) {
		var kept []audit.Entry
		var err error
		if c.slowest > 0 {
			kept, err = x.Slowest(ctx, c.filter, c.slowest)
		} else {
			for e, fault := range found {
				var invalid *audit.Break
				if fault != nil && !errors.As(fault, &invalid) {
					err = fault
				} else if fault == nil {
					kept = append(kept, e)
				}
				if len(kept) >= 2*c.filter.Limit {
					kept = slices.Clone(kept[len(kept)-c.filter.Limit:])
				}
			}
			kept = kept[max(0, len(kept)-c.filter.Limit):]
		}
		for _, e := range kept {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(audit.Entry{}, err)
		}
	}
}

// run shows lines. Conditions says that there are some, and onlyNew that none of those that are there is wanted.
func (c *auditCommand) run(ctx context.Context, conditions, onlyNew bool) error {
	format, err := c.check()
	if err == nil {
		err = c.parse()
	}
	if err != nil {
		return err
	}
	path, err := c.log.path()
	if err != nil {
		return err
	}
	if onlyNew {
		if !c.filter.Follow {
			return nil
		}
		c.filter.Since = time.Now()
	}
	n := 0
	if asks, makes := c.remembered(); asks {
		r, x, closeAll, bad := c.log.index(ctx, path, makes)
		defer closeAll()
		switch err = bad; {
		case err != nil:
		case len(c.sum) > 0:
			n, err = c.sums(ctx, x, format)
		default:
			n, err = c.log.print(c.entries(ctx, r, x), format)
		}
	} else {
		n, err = c.log.print(audit.Search(ctx, path, c.filter), format)
	}
	switch {
	case c.filter.Follow:
	case errors.Is(err, fs.ErrNotExist), err == nil && n == 0 && !conditions:
		return c.log.empty(path, err != nil)
	case err == nil && n == 0:
		c.log.s.Err.Printf("no line matches\n")
	}
	return err
}

// timeLayouts are the accepted forms of a time. A time without a zone is local.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly,
}

// parseTime parses the value of a flag: a time, or a duration before now. The zero time stands for no limit.
func parseTime(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Usage(fmt.Sprintf("%s %q is neither a time nor a duration", flag, s),
		"use 2026-01-31, 2026-01-31T12:00:00Z or 24h")
}
