package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (a *app) auditTailCommand(o *auditOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest lines of the log, and new ones as they come",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.tailAudit(cmd.Context(), *o) },
	}
	addTailFlags(cmd, o)
	return cmd
}

func addTailFlags(cmd *cobra.Command, o *auditOptions) {
	cmd.Flags().IntVarP(&o.lines, "lines", "n", 20, "show the newest `N` lines")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "then show each new line, until interrupted")
}

func (a *app) tailAudit(ctx context.Context, o auditOptions) error {
	if o.lines < 0 {
		return usage(fmt.Sprintf("-n %d is below zero", o.lines), "give the number of lines to show")
	}
	path, err := a.auditPath(o)
	if err != nil {
		return err
	}
	if o.follow {
		_, err = a.printEntries(audit.Follow(ctx, path, o.lines))
		return err
	}
	n, err := a.printEntries(audit.Tail(ctx, path, o.lines))
	if errors.Is(err, fs.ErrNotExist) || err == nil && n == 0 && o.lines > 0 {
		a.noCalls(path)
		return nil
	}
	return err
}

func (a *app) noCalls(path string) {
	a.err.printf("no calls are on record yet at %s\n", sanitize.Text(path))
}

// printEntries prints entries as they come, and how many lines it came by. A
// line that is none is told of, and the rest goes on.
func (a *app) printEntries(entries iter.Seq2[audit.Entry, error]) (n int, err error) {
	for e, err := range entries {
		var unreadable *audit.Break
		switch {
		case errors.As(err, &unreadable):
			a.warn(&tool.Error{Message: unreadable.Error(), Hint: "toolhost audit verify checks the whole log"})
		case err != nil:
			return n, unreadableLog(err)
		case a.json:
			_, _ = sanitize.JSON(a.out).Write(append(slices.Clip(e.Raw), '\n'))
		default:
			if n == 0 {
				a.out.printf(auditFormat, "TIME", "EVENT", "TOOL", "CALLER", "RESULT", "DURATION")
			}
			a.out.printf(auditFormat, auditCells(e.Record)...)
		}
		n++
		if a.out.err != nil { // nobody reads any more; it is told at the end
			return n, nil
		}
	}
	return n, nil
}

// unreadableLog is an error of the log and of no plugin.
func unreadableLog(err error) error {
	switch tool.CodeOf(err) {
	case tool.CodeCanceled, tool.CodeDeadlineExceeded:
		return err
	}
	return &failure{exitFailed, err}
}

// auditFormat has fixed widths: lines are printed as they are read, or written.
const auditFormat = "%-23s  %-5s  %-24s  %-8s  %-18s  %s\n"

// modifiedMark follows the result of a call that ran with other arguments than were
// asked for. --json has both.
const modifiedMark = ", modified"

// callerWidth is how much of a caller's ID is shown: enough to tell those of a
// day apart, and to search for.
const callerWidth = 8

func auditCells(r audit.Record) []any {
	result, took := string(r.Code), "-"
	if r.Event == audit.End {
		took = milliseconds(time.Duration(r.Duration))
		if result == "" {
			result = string(audit.CodeOK)
		}
	} else if result == "" {
		result = r.Decision
	}
	if r.AskedArguments != "" {
		result += modifiedMark
	}
	caller := []rune(r.Session)
	cells := []any{r.Time.Local().Format("2006-01-02 15:04:05.000")}
	for _, text := range []string{r.Event, r.Tool, string(caller[:min(len(caller), callerWidth)]), result, took} {
		cells = append(cells, orDash(sanitize.Line(text, 0)))
	}
	return cells
}
