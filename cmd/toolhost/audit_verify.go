package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newAuditVerifyCommand(log *auditFile) *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the log has not been changed",
		Long: `Check the chain of hashes through all files of the log, up to the first break: a line
that was edited, dropped, inserted or moved, or a missing file. The exit status is then 1,
and the lines after the break are counted but not verified. A line that was torn by a
crash is shown, and is not a break.

Lines that were cut off at the end leave no trace in the log. The newest line is
remembered in the state directory, so it is noticed if it is gone, or if the whole log
is. Anyone who can write both can compute all hashes again. Against that, keep the hash
of the newest line in another place, and look for it with --expect.`,
		Example: `  toolhost audit verify
  toolhost audit verify --expect sha256:0f3c...`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return log.verify(cmd.Context(), expect) },
	}
	cmd.Flags().StringVar(&expect, "expect", "", "fail unless a line has this `HASH`, which an earlier verify showed")
	return cmd
}

// expectedHash is what verify prints and takes.
var expectedHash = lazy.Regexp(`^sha256:[0-9a-f]{64}$`)

func (l *auditFile) verify(ctx context.Context, expect string) error {
	path, err := l.path()
	if err != nil {
		return err
	}
	head, file, err := l.head(path) // before the log is read, which only grows
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	var known []audit.Head
	if expect != "" {
		if !expectedHash().MatchString(expect) {
			return exit.Usage("--expect does not take "+strconv.Quote(output.Shorten(expect, 80)),
				"give the hash of a line as audit verify prints it: sha256: and 64 hexadecimal digits")
		}
		known = append(known, audit.Head{Hash: expect})
	}
	if head.Seq > 0 {
		known = append(known, head)
	}
	report, err := audit.Verify(ctx, path, known...)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return unreadable(err)
	}
	empty := report.Lines == 0 && report.Unverified == 0 && len(report.Torn) == 0
	var broken error
	switch {
	case empty:
		if broken = l.empty(path, missing); broken == nil && expect != "" {
			broken = exit.With(exit.Failed, &tool.Error{
				Message: "no call is recorded, so no line has the hash " + expect, Hint: "name another log with --file",
			})
		}
	case !report.Whole():
		hint := "keep a copy of its files before you do anything else with them"
		if report.Break.Kind == audit.Missing && head.Seq > 0 {
			hint += "; " + restoreHint(file)
		}
		broken = exit.With(exit.Failed, &tool.Error{
			Message: fmt.Sprintf("the audit log %s is not as it was written", report.Path), Hint: hint,
		})
	}
	if l.s.Flags.JSON {
		return l.s.Out.Report(report, broken)
	}
	if !empty {
		l.s.Out.Printf("%s\n", sanitize.Text(report.String()))
	}
	return broken
}
