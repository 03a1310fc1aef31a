package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// printed is what a noun lists.
type printed[T any] struct {
	all  []T
	none string // what is said if there are none; empty: nothing
	// columns are the headings, with | between them.
	columns string
	row     func(T) []string
	// json is what --json prints; nil: all.
	json any
}

// print prints the list as a table, or with --json as JSON.
func (p printed[T]) print(s *session.Session) error {
	if s.Flags.JSON {
		if p.json != nil {
			return s.Out.JSON(p.json)
		}
		return s.Out.JSON(p.all)
	}
	if len(p.all) == 0 {
		if p.none != "" {
			s.Err.Printf("%s\n", p.none)
		}
		return nil
	}
	rows := output.Table{strings.Split(p.columns, "|")}
	for _, one := range p.all {
		rows.Add(p.row(one)...)
	}
	s.Out.Table(rows)
	return nil
}

// addList adds to a noun that lists the command NOUN list, which is the same and not shown.
func addList(noun *cobra.Command) {
	list := &cobra.Command{Use: "list", Short: noun.Short, Hidden: true, Args: noArguments, RunE: noun.RunE}
	list.Flags().AddFlagSet(noun.Flags())
	noun.AddCommand(list)
}
