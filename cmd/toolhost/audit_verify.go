package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (a *app) auditVerifyCommand(o *auditOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that the log is as it was written",
		Long: `Check the chain of hashes through all files of the log, up to the first break: a line
that was edited, dropped, inserted or moved, or a file that is missing. The exit status
is 1 then. The lines after it are counted and not verified. A line that a crash tore is
shown, and is not a break.

Lines that were cut off at the end leave no trace in the log, and whoever may write it
can compute all of it again. To detect both, keep the hash of the newest line in another
place.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verifyAudit(cmd.Context(), *o) },
	}
}

func (a *app) verifyAudit(ctx context.Context, o auditOptions) error {
	path, err := a.auditPath(o)
	if err != nil {
		return err
	}
	report, err := audit.Verify(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadableLog(err)
	}
	if report.Lines == 0 && report.Whole() && len(report.Torn) == 0 {
		a.noCalls(path)
	} else if !a.json {
		a.out.printf("%s\n", sanitize.Text(report.String()))
	}
	if a.json {
		if err := a.out.json(report); err != nil {
			return err
		}
	}
	if report.Whole() {
		return nil
	}
	return &failure{exitFailed, &tool.Error{
		Message: fmt.Sprintf("the audit log %s is not as it was written", report.Path),
		Hint:    "keep a copy of its files before anything else is done with them",
	}}
}
