package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
)

func newDoctorCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show which protections from plugins this system has",
		Long: `Show which protections from plugins this system has, and what a missing one means. A
missing protection is not a failure of this command.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			all := plugin.Protections()
			if s.Flags.JSON {
				return s.Out.JSON(map[string]any{"protections": all})
			}
			t := output.Table{{"PROTECTION", "HERE", "DETAIL"}}
			for _, p := range all {
				t.Add(p.Name, map[bool]string{true: "yes", false: "no"}[p.Available], p.Detail)
			}
			s.Out.Table(t)
			return nil
		},
	}
}
