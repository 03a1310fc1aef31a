package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

func newAuditCommand(s *session.Session) *cobra.Command {
	log := &auditFile{s: s}
	tail := auditTail{log: log}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the audit log of calls and administration",
		Long: `Read the audit log of calls: who called which tool, who approved the call, and how it
ended.

Without a subcommand this shows the newest lines, as audit tail does. A cautious or
dangerous call has a line when it begins and one when it ends, any other call one when
it ends. A change of what may run, be called or come in has a line of the event admin. "modified" marks a call whose arguments an approver has changed: --json shows
what ran (input) and what was asked for (asked_input).`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return tail.run(cmd.Context()) },
	}
	cmd.PersistentFlags().StringVar(&log.file, "file", "", "log `FILE` to read "+auditDefault)
	tail.bind(cmd)
	cmd.AddCommand(newAuditTailCommand(log), newAuditSearchCommand(log), newAuditVerifyCommand(log))
	return cmd
}
