package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/plugin"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show which protections from plugins this system has",
		Long: `Show which protections from plugins this system has, and what follows where one is
missing. A missing one is no failure of this command.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			all := plugin.Protections()
			if a.json {
				return a.out.json(map[string]any{"protections": all})
			}
			t := table{{"PROTECTION", "HERE", "DETAIL"}}
			for _, p := range all {
				t.add(p.Name, map[bool]string{true: "yes", false: "no"}[p.Available], p.Detail)
			}
			a.out.table(t)
			return nil
		},
	}
}
