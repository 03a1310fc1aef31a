package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const auditDefault = "(default $" + session.AuditVariable + ", else toolhost/audit.jsonl in the user's state directory)"

// bindAuditFlag adds the flag of the commands that record calls.
func bindAuditFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "audit", "", "`file` to record calls in, or "+session.Off+" "+auditDefault)
}

// auditFile is the log that the audit commands read.
type auditFile struct {
	s    *session.Session
	file string // the flag
}

func newAuditCommand(s *session.Session) *cobra.Command {
	log := &auditFile{s: s}
	tail := auditTail{log: log}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the audit log of calls",
		Long: `Read the audit log of calls: who called which tool, who approved the call, and how it
ended.

Without a subcommand this shows the newest lines, as audit tail does. A cautious or
dangerous call has a line when it begins and one when it ends, any other call one when
it ends. "modified" marks a call whose arguments an approver has changed: --json shows
what ran (input) and what was asked for (asked_input).`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return tail.run(cmd.Context()) },
	}
	cmd.PersistentFlags().StringVar(&log.file, "file", "", "log `FILE` to read "+auditDefault)
	tail.bind(cmd)
	cmd.AddCommand(newAuditTailCommand(log), newAuditSearchCommand(log), newAuditVerifyCommand(log))
	return cmd
}

// path returns the log that the flag, the configuration or the environment names, else the
// default log.
func (l *auditFile) path() (string, error) {
	if l.file != "" {
		return l.file, nil
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
