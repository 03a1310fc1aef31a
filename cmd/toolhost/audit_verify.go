package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newAuditVerifyCommand(log *auditFile) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that the log has not been changed",
		Long: `Check the chain of hashes through all files of the log, up to the first break: a line
that was edited, dropped, inserted or moved, or a missing file. The exit status is then 1,
and the lines after the break are counted but not verified. A line that was torn by a
crash is shown, and is not a break.

Lines that were cut off at the end leave no trace in the log, and anyone who can write
it can compute all hashes again. Against both, keep the hash of the newest line in
another place.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return log.verify(cmd.Context()) },
	}
}

func (l *auditFile) verify(ctx context.Context) error {
	path, err := l.path()
	if err != nil {
		return err
	}
	report, err := audit.Verify(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(err)
	}
	var broken error
	if !report.Whole() {
		broken = exit.With(exit.Failed, &tool.Error{
			Message: fmt.Sprintf("the audit log %s is not as it was written", report.Path),
			Hint:    "keep a copy of its files before you do anything else with them",
		})
	}
	empty := report.Lines == 0 && broken == nil && len(report.Torn) == 0
	if empty {
		l.noteEmpty(path)
	}
	if l.s.Flags.JSON {
		return l.s.Out.Report(report, broken)
	}
	if !empty {
		l.s.Out.Printf("%s\n", sanitize.Text(report.String()))
	}
	return broken
}
