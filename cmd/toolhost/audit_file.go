package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/auditindex"
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
		d := l.s.Daemon(context.Background())
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

// empty says that no call is recorded yet, unless calls were: the log is gone, or it was named on
// the command line and is not there.
func (l *auditFile) empty(path string, missing bool) error {
	head, file, err := l.head(path)
	switch {
	case err != nil:
		return exit.With(exit.Failed, err)
	case head.Seq > 0:
		return l.gone(path, file, head)
	case missing && l.file != "":
		return exit.With(exit.Failed, &tool.Error{
			Message: "there is no audit log " + sanitize.Text(path),
			Hint:    "name another with --file, or leave it out for the log that calls are recorded in",
		})
	}
	l.s.Err.Printf("no calls are recorded yet in %s\n", sanitize.Text(path))
	return nil
}

// head returns the newest line of a log as it was remembered, and the file that says so.
func (l *auditFile) head(path string) (audit.Mark, string, error) {
	file, err := audit.HeadPath(path)
	if err != nil { // without a state directory nothing is remembered
		return audit.Mark{}, "", nil //nolint:nilerr // as above
	}
	head, err := audit.ReadHead(file)
	return head, file, err
}

// gone returns the error of a log that was removed or emptied.
func (l *auditFile) gone(path, file string, head audit.Mark) error {
	return exit.With(exit.Failed, &tool.Error{
		Message: fmt.Sprintf("the audit log %s was removed or emptied: it had %d lines, the last of %s",
			sanitize.Text(path), head.Seq, head.Time.Local().Format(time.DateTime)),
		Hint: restoreHint(file),
	})
}

// restoreHint says what to do about a log that has lost lines, of which the newest is remembered
// in a file.
func restoreHint(file string) string {
	return "restore it from a copy; if you removed it yourself, remove " + sanitize.Text(file) +
		" and what is left of the log too, and the next call begins a new one"
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
func (l *auditFile) print(entries iter.Seq2[audit.Entry, error], format auditFormat) (n int, err error) {
	out := l.s.Out
	for e, err := range entries {
		var invalid *audit.Break
		switch {
		case errors.As(err, &invalid):
			l.s.Warn(&tool.Error{Message: invalid.Error(), Hint: "toolhost audit verify checks the whole log"})
		case err != nil:
			return n, unreadable(err)
		case format == asJSON:
			out.Line(e.Raw)
		case format == asCSV:
			if n == 0 {
				writeCSV(out, auditColumns())
			}
			writeCSV(out, auditValues(&e.Record))
		default:
			if n == 0 {
				out.Printf(auditRow, "TIME", "EVENT", "WHAT", "CALLER", "SESSION", "RESULT", "DURATION", "CALL")
			}
			out.Printf(auditRow, auditCells(e.Record)...)
		}
		n++
		if out.Err() != nil { // the reader is gone; the error is reported at the end
			return n, nil
		}
	}
	return n, nil
}

// index opens the log with what is remembered of it; not indexed: nothing is, so that all of it is read. Close is
// never nil.
func (l *auditFile) index(ctx context.Context, path string, indexed bool) (r *audit.Reader, x *auditindex.Index, closeAll func(), err error) {
	closeAll = func() {}
	if r, err = audit.OpenReader(ctx, path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, closeAll, err
	}
	if err != nil {
		return nil, nil, closeAll, unreadable(err)
	}
	began, shown := time.Now(), time.Now()
	progress := func(what string, done, total int64) {
		if time.Since(began) > time.Second/2 && time.Since(shown) > time.Second/10 {
			shown = time.Now()
			l.s.Err.Status(fmt.Sprintf("%s: %d%%", what, 100*done/max(1, total)))
		}
	}
	o := auditindex.Options{
		Progress: func(done, total int64) { progress("indexing the audit log", done, total) },
		Warn:     func(text string) { l.s.Warn(&tool.Error{Message: text}) },
	}
	if indexed {
		o.Dir = l.s.Settings().CacheDir()
	}
	if x, err = auditindex.Open(ctx, path, r, o); err != nil {
		r.Close()
		return nil, nil, closeAll, unreadable(err)
	}
	before := []int64{0} // what comes before each part
	for i, p := range r.Parts() {
		before = append(before, before[i]+p.Size)
	}
	r.Progress = func(in audit.Range, at int64) {
		progress("reading the audit log", before[in.Part]+at, before[len(before)-1])
	}
	return r, x, func() { l.s.Err.Status(""); x.Close(); r.Close() }, nil
}

// auditRow has fixed widths, because lines are printed as they are read.
const auditRow = "%-23s  %-8s  %-24s  %-8s  %-8s  %-18s  %-10s  %s\n"

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
	what := r.Tool
	if r.Event == audit.Admin {
		what, result = strings.TrimSpace(r.Action+" "+r.Object), cmp.Or(result, string(audit.CodeOK))
	}
	if r.Refusals > 1 {
		result += fmt.Sprintf(", %d calls", r.Refusals)
	}
	id := []rune(r.Session)
	cells := []any{r.Time.Local().Format("2006-01-02 15:04:05.000")}
	for _, text := range []string{r.Event, what, r.Caller, string(id[:min(len(id), sessionWidth)]), result, took, r.Call} {
		cells = append(cells, output.OrDash(sanitize.Line(text, 0)))
	}
	return cells
}
