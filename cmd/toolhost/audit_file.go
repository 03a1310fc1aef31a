package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const auditDefault = "(default $" + session.AuditVariable + ", else toolhost/audit.jsonl in the user's state directory)"

// bindAuditFlag adds the flag of the commands that record calls.
func bindAuditFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "audit", "", "`FILE` to record calls in, or "+session.Off+" "+auditDefault)
}

// auditFile is the log that the audit commands read.
type auditFile struct {
	s    *session.Session
	file string // the flag
}

// path returns the log that the flag, the configuration or the environment names, else the
// default log.
func (l *auditFile) path() (string, error) {
	if l.file != "" {
		return l.file, nil
	}
	if err := l.s.Unread(); err != nil { // which log it is, only the daemon knows
		d := l.s.Daemon(context.Background(), session.Needs{})
		if d == nil || d.State().Audit == "" {
			return "", err
		}
		return d.State().Audit, nil
	}
	if named := l.s.Settings().AuditPath(""); named != "" && named != session.Off {
		return named, nil
	}
	path, err := audit.DefaultPath()
	if err != nil {
		return "", exit.Usage("there is no default place for the audit log: "+err.Error(), "name the log with --file")
	}
	return path, nil
}

func (l *auditFile) noteEmpty(path string) {
	l.s.Err.Printf("no calls are recorded yet in %s\n", sanitize.Text(path))
}

// unreadable returns an error of reading the log with its exit status: no plugin is involved.
func unreadable(err error) error {
	switch tool.CodeOf(err) {
	case tool.CodeCanceled, tool.CodeDeadlineExceeded:
		return err
	}
	return exit.With(exit.Failed, err)
}

// print prints entries as they arrive, and returns how many lines it read. It warns of a line
// that is not valid, and goes on.
func (l *auditFile) print(entries iter.Seq2[audit.Entry, error]) (n int, err error) {
	out := l.s.Out
	for e, err := range entries {
		var invalid *audit.Break
		switch {
		case errors.As(err, &invalid):
			l.s.Warn(&tool.Error{Message: invalid.Error(), Hint: "toolhost audit verify checks the whole log"})
		case err != nil:
			return n, unreadable(err)
		case l.s.Flags.JSON:
			out.Line(e.Raw)
		default:
			if n == 0 {
				out.Printf(auditFormat, "TIME", "EVENT", "TOOL", "CALLER", "SESSION", "RESULT", "DURATION")
			}
			out.Printf(auditFormat, auditCells(e.Record)...)
		}
		n++
		if out.Err() != nil { // the reader is gone; the error is reported at the end
			return n, nil
		}
	}
	return n, nil
}

// auditFormat has fixed widths, because lines are printed as they are read.
const auditFormat = "%-23s  %-5s  %-24s  %-8s  %-8s  %-18s  %s\n"

// modifiedMark follows the result of a call whose arguments an approver has changed.
const modifiedMark = ", modified"

// sessionWidth is how much of a session's ID is shown: enough to search for, and to tell the
// sessions of a day apart.
const sessionWidth = 8

func auditCells(r audit.Record) []any {
	result, took := string(r.Code), "-"
	if r.Event == audit.End {
		took = output.Milliseconds(time.Duration(r.Duration))
		if result == "" {
			result = string(audit.CodeOK)
		}
	} else if result == "" {
		result = r.Decision
	}
	if r.AskedArguments != "" {
		result += modifiedMark
	}
	id := []rune(r.Session)
	cells := []any{r.Time.Local().Format("2006-01-02 15:04:05.000")}
	for _, text := range []string{r.Event, r.Tool, r.Caller, string(id[:min(len(id), sessionWidth)]), result, took} {
		cells = append(cells, output.OrDash(sanitize.Line(text, 0)))
	}
	return cells
}
