package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutTrust = `Let a ` + defaultConfig + `, or a ` + lockName + ` where there is none, that was found in a
directory count. A file that a command finds in the current directory may be anyone's: the
author's of a repository that you have cloned, or a tool's. Until you trust it, commands
work by the defaults, and say so.

What the file grants is shown first, and you are asked; without a terminal, --yes says
yes. It is trusted at its place, as it is now: when it changes, or is copied elsewhere,
it is not trusted any more. What it refers to, such as a directory of plugins, is
trusted with it, whatever is there later.

A file that is named, with --config or ` + configVariable + `, needs no trust. Nothing
that a file says changes this.

The exit status is 5 where nobody said yes.`

// trustFlags are those of toolhost trust.
type trustFlags struct{ list, revoke, yes bool }

func (a *app) trustCommand() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [DIR | FILE]",
		Short: "Let the configuration that was found in a directory count",
		Long:  aboutTrust,
		Example: `  toolhost trust                 # the file in the current directory
  toolhost trust ~/project --yes
  toolhost trust --list
  toolhost trust --revoke ~/project`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := append(args, ".")[0]
			switch {
			case f.list && (f.revoke || f.yes), f.revoke && f.yes:
				return usage("--list, --revoke and --yes do not go together", "say one of them")
			case f.list && len(args) > 0:
				return usage("--list takes no file", "leave "+sanitize.Text(args[0])+" out")
			case f.list:
				return a.listTrusted()
			case f.revoke:
				return a.revokeTrust(at)
			}
			return a.trustFile(cmd.Context(), at, f.yes)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "show the files that are trusted")
	flags.BoolVar(&f.revoke, "revoke", false, "trust the file no more")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

// found is the file that commands find in a directory, or the file itself.
func found(at string) (string, error) {
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() {
		return at, err
	}
	for _, name := range []string{defaultConfig, lockName} {
		path := filepath.Join(at, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("there is no %s and no %s in %s: %w", defaultConfig, lockName, at, fs.ErrNotExist)
}

// readable is a file that may be trusted: what it says, and the digest of that.
type readable struct {
	path, digest string
	grants       []string
}

// readTrustable reads a file. One with a problem is not to be trusted.
func readTrustable(at string) (readable, error) {
	path, err := found(at)
	if err != nil {
		return readable{}, usage(firstLine(err.Error()), "name a directory or a file; toolhost config init makes one")
	}
	if path, err = trust.Place(path); err != nil {
		return readable{}, err
	}
	if strings.HasSuffix(path, ".lock") {
		return readLock(path)
	}
	c, err := setup.Load(path)
	if err != nil {
		return readable{}, &failure{exitUsage, err}
	}
	return readable{path, c.Digest(), setup.Summary(c)}, nil
}

// readLock reads a lock. It is looked at twice: what is trusted is what was read.
func readLock(path string) (readable, error) {
	digest, err := contentOf(path)
	if err != nil {
		return readable{}, &failure{exitUsage, err}
	}
	l, err := lockfile.Read(path)
	if err != nil {
		return readable{}, &failure{exitUsage, err}
	}
	if again, err := contentOf(path); err != nil || again != digest {
		return readable{}, &failure{exitFailed, fmt.Errorf("%s changes while it is read: try again", sanitize.Text(path))}
	}
	return readable{path, digest, []string{fmt.Sprintf("pins %d plugins: nothing else runs", len(l.Plugins))}}, nil
}

// trusted is what toolhost trust --json prints.
type trusted struct {
	File    string   `json:"file"`
	SHA256  string   `json:"sha256"`
	Grants  []string `json:"grants"`
	Trusted bool     `json:"trusted"`
}

func (a *app) trustFile(ctx context.Context, at string, yes bool) error {
	r, err := readTrustable(at)
	if err != nil {
		return err
	}
	s, err := trust.Open()
	if err != nil {
		return fmt.Errorf("there is no place to remember what is trusted: %w", err)
	}
	before, err := s.Trusts(r.path, r.digest)
	if err != nil {
		return err
	}
	if !yes && !before {
		if err := a.confirmTrust(ctx, r); err != nil {
			return err
		}
	}
	if err := s.Trust(r.path, r.digest); err != nil {
		return fmt.Errorf("%s is not trusted: %w", sanitize.Text(r.path), err)
	}
	if a.json {
		return a.out.json(trusted{r.path, r.digest, r.grants, true})
	}
	if yes || before { // else it was shown with the question
		a.out.printf("%s", r)
	}
	a.out.printf("trusted %s\n", sanitize.Text(r.path))
	return nil
}

// String is what the file grants, for a person.
func (r readable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (sha256 %.12s):\n", sanitize.Text(r.path), r.digest)
	for _, line := range r.grants {
		fmt.Fprintf(&b, "  %s\n", sanitize.Line(line, 1000))
	}
	return b.String()
}

// confirmTrust asks at the terminal, and gives an error where the answer is not a yes.
func (a *app) confirmTrust(ctx context.Context, r readable) error {
	terminal, err := a.openTerminal()
	if err != nil {
		a.err.printf("%s", r)
		return &tool.Error{
			Code: tool.CodeApprovalRequired, Message: sanitize.Text(r.path) + " is not trusted: there is no terminal to ask at",
			Hint: "look at what it grants, and say --yes",
		}
	}
	defer func() { _ = terminal.Close() }()
	yes, err := confirm(ctx, terminal, r.String(), "Trust it? [y/N] ")
	if err != nil || yes {
		return err
	}
	return &tool.Error{Code: tool.CodeApprovalDenied, Message: sanitize.Text(r.path) + " is not trusted: the answer was not yes"}
}

func (a *app) revokeTrust(at string) error {
	path, err := found(at)
	if err != nil && at == "." { // it may be gone by now
		path, err = defaultConfig, nil
	}
	if err != nil {
		path = at
		if filepath.Ext(at) == "" {
			path = filepath.Join(at, defaultConfig)
		}
	}
	if path, err = trust.Place(path); err != nil {
		return err
	}
	s, err := trust.Open()
	if err != nil {
		return err
	}
	was, err := s.Revoke(path)
	if err != nil {
		return fmt.Errorf("%s is trusted as before: %w", sanitize.Text(path), err)
	}
	if a.json {
		return a.out.json(map[string]any{"revoked": path, "changed": was})
	}
	word := map[bool]string{true: "is not trusted any more", false: "was not trusted"}[was]
	a.out.printf("%s %s\n", sanitize.Text(path), word)
	return nil
}

// listed is one of what toolhost trust --list --json prints.
type listed struct {
	trust.Entry
	State string `json:"state"` // trusted, changed or gone
}

func (a *app) listTrusted() error {
	s, err := trust.Open()
	if err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return &failure{exitFailed, err}
	}
	out := []listed{}
	for _, e := range all {
		state := "trusted"
		if now, err := contentOf(e.File); errors.Is(err, fs.ErrNotExist) {
			state = "gone"
		} else if err != nil || now != e.SHA256 {
			state = "changed"
		}
		out = append(out, listed{e, state})
	}
	if a.json {
		return a.out.json(map[string]any{"files": out})
	}
	if len(out) == 0 {
		a.err.printf("no files are trusted\n")
		return nil
	}
	t := table{{"FILE", "STATE", "SINCE"}}
	for _, e := range out {
		t.add(e.File, e.State, e.Since.Local().Format(time.DateTime))
	}
	a.out.table(t)
	return nil
}
