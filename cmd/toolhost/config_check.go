package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newConfigCheckCommand(s *session.Session) *cobra.Command {
	var start bool
	cmd := &cobra.Command{
		Example: "  toolhost config check toolhost.yaml",
		Use:     "check [FILE]",
		Short:   "Find everything that is wrong with the configuration file",
		Long: `Find everything that is wrong with the configuration file, with the lines. The
directories, variables and files that it refers to must exist. Plugins are not started
and need not exist.

With --start, plugins are started with the settings of the file, or recalled if they were
started with them before. Each plugin must accept its configuration, and the settings of
tools must fit the tools. Names of plugins and tools that do not exist are reported.

The exit status is 1 if there is a problem.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			nameConfig(s, args)
			return checkConfig(cmd.Context(), s, start)
		},
	}
	cmd.Flags().BoolVar(&start, "start", false, "start the plugins, and check their settings")
	return cmd
}

// configReport is what config check --json prints.
type configReport struct {
	File     string           `json:"file"`
	Problems []config.Problem `json:"problems"`
	Omitted  int              `json:"omitted,omitempty"`
	Warnings []config.Problem `json:"warnings"`
}

func checkConfig(ctx context.Context, s *session.Session, start bool) error {
	path, by, err := s.Flags.ConfigPath()
	if err != nil {
		return err
	}
	report := configReport{File: path, Warnings: []config.Problem{}}
	c, err := setup.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		if by == "" {
			by = "the default one"
		}
		return exit.Usage("there is no configuration file "+sanitize.Text(path)+" ("+by+")", "make it with toolhost config init, or name another")
	}
	s.NoteIfUntrusted(path, by)
	s.Quiet = true // it is said
	if c != nil {
		err = checkReferences(s, c, err)
	}
	if err == nil && start {
		report.Warnings, err = checkPlugins(ctx, s)
		var own *exit.Error
		if ctx.Err() != nil || errors.As(err, &own) {
			return err
		}
	}
	report.take(err)
	return printReport(s, report)
}

// take makes problems of an error.
func (r *configReport) take(err error) {
	r.Problems = []config.Problem{}
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		r.Problems, r.Omitted = bad.Problems, bad.Omitted
	case err != nil:
		e := tool.AsError(err)
		r.Problems = append(r.Problems, config.Problem{File: r.File, Line: 1, Column: 1, Message: output.Message(err), Hint: e.Advice()})
	}
}

func printReport(s *session.Session, r configReport) error {
	err := r.err()
	if s.Flags.JSON {
		return s.Out.Report(r, err)
	}
	for _, p := range r.Problems {
		s.Out.Printf("%s\n", sanitize.Text(p.String()))
		if p.Snippet != "" {
			s.Out.Printf("%s\n", p.Snippet)
		}
	}
	for _, p := range r.Warnings {
		s.Err.Printf("warning: %s\n", sanitize.Text(p.String()))
	}
	if err == nil {
		s.Out.Printf("%s: no problems\n", sanitize.Text(r.File))
	}
	return err
}

func (r configReport) err() error {
	switch n := len(r.Problems) + r.Omitted; n {
	case 0:
		return nil
	case 1:
		return exit.With(exit.Failed, errors.New("there is a problem in "+sanitize.Text(r.File)))
	default:
		return exit.With(exit.Failed, fmt.Errorf("there are %d problems in %s", n, sanitize.Text(r.File)))
	}
}

// checkReferences finds references to what does not exist, and returns them with the
// problems that were found before.
func checkReferences(s *session.Session, c *config.Config, before error) error {
	var problems []config.Problem
	directory := func(path string, keys ...string) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			problems = append(problems, c.Problem("there is no directory "+path, "make it, or name another", keys...))
		}
	}
	if c.Root != "" {
		directory(c.Root, "root")
	}
	for _, dir := range c.PluginDirs {
		directory(dir, "plugin_dirs")
	}
	_, unresolved := setup.PluginSettings(c, setup.Run{Once: true, Lookup: os.LookupEnv})
	for _, err := range []error{before, unresolved, c.CheckPaths(), s.Settings().With(c).CheckPlaces("")} {
		if bad, ok := errors.AsType[*config.Error](err); ok {
			problems = append(problems, bad.Problems...)
		} else if err != nil {
			return err
		}
	}
	return c.Problems(problems)
}

// checkPlugins starts the plugins, and finds plugins and settings of tools that cannot be
// used.
func checkPlugins(ctx context.Context, s *session.Session) (warnings []config.Problem, err error) {
	if err := s.Configure(true); err != nil {
		return nil, err
	}
	c := s.Settings().Config
	if c.File == "" {
		hint := "look at it, and: toolhost trust; or name it with --config"
		return nil, exit.Usage("plugins are not started with the settings of a file that is not trusted", hint)
	}
	l, err := s.OpenLocal(ctx, session.Needs{})
	if err != nil {
		return nil, err
	}
	var problems []config.Problem
	for _, fault := range l.Faults {
		problems = append(problems, session.ConfigProblem(c, fault))
	}
	unmatched := slices.Concat(session.Unmatched(c, l.Host.Plugins(), l.Host.Claims()), session.UnmatchedTools(c, l.Mounts))
	return unmatched, errors.Join(c.Problems(problems), l.Close(ctx))
}
