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

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditTail is toolhost audit tail.
type auditTail struct {
	log    *auditFile
	lines  int
	follow bool
}

func newAuditTailCommand(log *auditFile) *cobra.Command {
	c := auditTail{log: log}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest lines of the log, and new ones as they are written",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.bind(cmd)
	return cmd
}

func (c *auditTail) bind(cmd *cobra.Command) {
	cmd.Flags().IntVarP(&c.lines, "lines", "n", 20, "show the newest `N` lines")
	cmd.Flags().BoolVar(&c.follow, "follow", false, "then show each new line, until interrupted")
}

func (c *auditTail) run(ctx context.Context) error {
	if c.lines < 0 {
		return exit.Usage(fmt.Sprintf("-n %d is below zero", c.lines), "give the number of lines to show")
	}
	path, err := c.log.path()
	if err != nil {
		return err
	}
	if c.follow {
		_, err = c.log.print(audit.Follow(ctx, path, c.lines))
		return err
	}
	n, err := c.log.print(audit.Tail(ctx, path, c.lines))
	if errors.Is(err, fs.ErrNotExist) || err == nil && n == 0 && c.lines > 0 {
		c.log.noteEmpty(path)
		return nil
	}
	return err
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
			_, _ = sanitize.JSON(out).Write(append(slices.Clip(e.Raw), '\n'))
		default:
			if n == 0 {
				out.Printf(auditFormat, "TIME", "EVENT", "TOOL", "CALLER", "RESULT", "DURATION")
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
const auditFormat = "%-23s  %-5s  %-24s  %-8s  %-18s  %s\n"

// modifiedMark follows the result of a call whose arguments an approver has changed.
const modifiedMark = ", modified"

// callerWidth is how much of a caller's ID is shown: enough to search for, and to tell the
// callers of a day apart.
const callerWidth = 8

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
	caller := []rune(r.Session)
	cells := []any{r.Time.Local().Format("2006-01-02 15:04:05.000")}
	for _, text := range []string{r.Event, r.Tool, string(caller[:min(len(caller), callerWidth)]), result, took} {
		cells = append(cells, output.OrDash(sanitize.Line(text, 0)))
	}
	return cells
}
