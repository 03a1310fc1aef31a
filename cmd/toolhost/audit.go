package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
)

// auditOptions are the flags of the audit commands.
type auditOptions struct {
	file   string
	lines  int
	follow bool
}

func (a *app) auditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the log of calls",
		Long: `Read the log of calls: who called which tool, who said yes, and what came of it.

By itself this shows the newest lines, as audit tail does. A cautious or
dangerous call has a line when it begins and one when it ends, any other one when
it ends. "modified" marks a call whose arguments an approver has changed: --json
shows what ran (input) and what was asked for (asked_input).`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.tailAudit(cmd.Context(), o) },
	}
	cmd.PersistentFlags().StringVar(&o.file, "file", "", "the log `FILE` (default $"+auditVariable+", else toolhost/audit.jsonl in the user's state directory)")
	addTailFlags(cmd, &o)
	cmd.AddCommand(a.auditTailCommand(&o), a.auditSearchCommand(&o), a.auditVerifyCommand(&o))
	return cmd
}

// auditPath is the log that the flags name, or else the configuration or environment.
func (a *app) auditPath(o auditOptions) (string, error) {
	if o.file != "" {
		return o.file, nil
	}
	if named := chosen("", a.configured().Audit.Path, auditVariable); named != "" && named != noAudit {
		return named, nil
	}
	path, err := audit.DefaultPath()
	if err != nil {
		return "", usage("there is no default place for the audit log: "+err.Error(), "name the log with --file")
	}
	return path, nil
}
