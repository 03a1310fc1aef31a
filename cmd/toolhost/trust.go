package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutTrust = `Trust the ` + session.DefaultConfig + ` and the ` + pins.LockName + ` of a directory, so that commands use them.
A file that a command finds in the current directory may come from anyone: the author of a
repository that you have cloned, or a tool. Until you trust it, commands use the defaults,
and say so; plugins that a lock pins do not start until you trust the lock.

This first shows what each file grants, and asks you; without a terminal, --yes confirms.
The file is trusted at its place and with its present content: a changed file or a copy
elsewhere is not. What toolhost itself has written, such as a lock, needs no trust.

A file outside of the workspace that is named with --config, ` + session.ConfigVariable + ` or --mcp-config
needs no trust. One inside, where tools may write it, counts with the content with which it is
named first, and with another after you have trusted that. Nothing in the file can change these
rules.

The exit status is 5 if you did not confirm.`

// trustCommand is toolhost trust.
type trustCommand struct {
	s                 *session.Session
	list, revoke, yes bool
}

func newTrustCommand(s *session.Session) *cobra.Command {
	c := trustCommand{s: s}
	cmd := &cobra.Command{
		Use:   "trust [DIR | FILE]",
		Short: "Trust the configuration file of a directory",
		Long:  aboutTrust,
		Example: `  toolhost trust                 # the file in the current directory
  toolhost trust ~/project --yes
  toolhost trust --list
  toolhost trust --revoke ~/project`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.list, "list", false, "show the trusted files")
	flags.BoolVar(&c.revoke, "revoke", false, "no longer trust the file")
	flags.BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

func (c *trustCommand) run(ctx context.Context, args []string) error {
	at := append(args, ".")[0]
	switch {
	case c.list && (c.revoke || c.yes), c.revoke && c.yes:
		return exit.Usage("--list, --revoke and --yes exclude each other", "use one of them")
	case c.list && len(args) > 0:
		return exit.Usage("--list takes no file", "leave "+sanitize.Text(args[0])+" out")
	case c.list:
		return c.printList()
	case c.revoke:
		return c.revokeTrust(at)
	}
	return c.trust(ctx, at)
}

// trustReport is the output of toolhost trust --json.
type trustReport struct {
	File    string   `json:"file"`
	SHA256  string   `json:"sha256"`
	Grants  []string `json:"grants"`
	Trusted bool     `json:"trusted"`
	// Lock is the lock of the directory, if that has a configuration file, too.
	Lock *trustReport `json:"lock,omitempty"`
}

func (c *trustCommand) trust(ctx context.Context, at string) error {
	all, err := readTrustables(at)
	if err != nil {
		return err
	}
	store, err := trust.Open()
	if err != nil {
		return fmt.Errorf("there is no place to remember trusted files: %w", err)
	}
	for _, f := range all {
		if err := c.trustOne(ctx, store, f); err != nil {
			return err
		}
	}
	if !c.s.Flags.JSON {
		return nil
	}
	reports := make([]trustReport, len(all))
	for i, f := range all {
		reports[i] = trustReport{File: f.path, SHA256: f.digest, Grants: f.grants, Trusted: true}
	}
	if len(reports) > 1 {
		reports[0].Lock = &reports[1]
	}
	return c.s.Out.JSON(reports[0])
}

func (c *trustCommand) trustOne(ctx context.Context, store trust.Store, f trustable) error {
	before, err := store.Trusts(f.path, f.digest)
	if err != nil {
		return err
	}
	if !c.yes && !before {
		if err := c.confirm(ctx, f); err != nil {
			return err
		}
	}
	if err := store.Trust(f.path, f.digest); err != nil {
		return fmt.Errorf("%s is not trusted: %w", sanitize.Text(f.path), err)
	}
	c.s.Did("%s, sha256:%s", f.path, f.digest)
	if c.s.Flags.JSON {
		return nil
	}
	if c.yes || before { // otherwise the question has shown it
		c.s.Out.Printf("%s", f)
	}
	c.s.Out.Printf("trusted %s\n", sanitize.Text(f.path))
	return nil
}

// confirm asks at the terminal, and returns an error unless the answer is yes.
func (c *trustCommand) confirm(ctx context.Context, f trustable) error {
	path := sanitize.Text(f.path)
	return c.s.Confirm(ctx, f.String(), "Trust it? [y/N] ",
		tool.Errorf(tool.CodeApprovalRequired, "%s is not trusted: there is no terminal to ask at", path).
			Try("look at what it grants, and confirm with --yes"),
		tool.Errorf(tool.CodeApprovalDenied, "%s is not trusted: the answer was not yes", path))
}

func (c *trustCommand) revokeTrust(at string) error {
	paths, err := findTrustable(at)
	path := at
	switch {
	case err == nil:
		path = paths[0]
	case at == ".": // the file may be gone by now
		path = session.DefaultConfig
	case filepath.Ext(at) == "":
		path = filepath.Join(at, session.DefaultConfig)
	}
	if path, err = trust.Place(path); err != nil {
		return err
	}
	store, err := trust.Open()
	if err != nil {
		return err
	}
	was, err := store.Revoke(path)
	if err != nil {
		return fmt.Errorf("%s is still trusted: %w", sanitize.Text(path), err)
	}
	c.s.Did("%s", path)
	state := map[bool]string{true: "is no longer trusted", false: "was not trusted"}[was]
	return c.s.Answer(map[string]any{"revoked": path, "changed": was}, "%s %s\n", sanitize.Text(path), state)
}

// listedFile is an element of the output of toolhost trust --list --json.
type listedFile struct {
	trust.Entry
	State string `json:"state"` // trusted, changed or gone
}

func (c *trustCommand) printList() error {
	store, err := trust.Open()
	if err != nil {
		return err
	}
	all, err := store.List()
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	files := []listedFile{}
	for _, e := range all {
		state := "trusted"
		if now, err := trust.Digest(e.File); errors.Is(err, fs.ErrNotExist) {
			state = "gone"
		} else if err != nil || now != e.SHA256 {
			state = "changed"
		}
		files = append(files, listedFile{e, state})
	}
	return printed[listedFile]{
		all: files, json: map[string]any{"files": files}, none: "no files are trusted", columns: "FILE|STATE|SINCE",
		row: func(f listedFile) []string { return []string{f.File, f.State, f.Since.Local().Format(time.DateTime)} },
	}.print(c.s)
}
