package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/audit"
)

// auditTail is toolhost audit.
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
	if c.lines == 0 {
		return nil
	}
	n, err := c.log.print(audit.Search(ctx, path, audit.Filter{Limit: c.lines}))
	if errors.Is(err, fs.ErrNotExist) || err == nil && n == 0 {
		return c.log.empty(path, err != nil)
	}
	return err
}
