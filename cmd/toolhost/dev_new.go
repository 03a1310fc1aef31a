package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/scaffold"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newDevNewCommand(s *session.Session) *cobra.Command {
	var language, sdk, ci string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the project of a new plugin",
		Long: `Write the project of a new plugin into the directory NAME, which must not exist or be
empty. It builds and passes its tests as it is: a tool with schemas and a preview,
tests, a Makefile, a script that makes a release, and plugin.yaml, of which
toolhost dev pack makes a package.

A plugin in Go requires the published version of the SDK that this toolhost was built
from. If there is none, go.mod replaces it by a source tree: the one that has this toolhost
in its bin directory, or the one that --toolhost names.
A plugin in Python or Node needs no SDK.

With --ci github, a workflow verifies each change and releases each tag to ghcr.io.`,
		Example: `  toolhost dev new weather
  toolhost dev new weather --lang python
  toolhost dev new weather --toolhost ~/src/toolhost`,
		Args:              oneName("the plugin"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := newProject(args[0], language, sdk)
			if err != nil {
				return err
			}
			if p.CI = ci; ci != "" && ci != scaffold.GitHub {
				return exit.Usage(fmt.Sprintf("there is no workflow for %q", ci), "the services are "+scaffold.GitHub)
			}
			return writeProject(s, p)
		},
	}
	cmd.Flags().StringVar(&language, "lang", string(scaffold.Go), "`LANGUAGE` of the plugin: "+strings.Join(languageNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(languageNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&sdk, "toolhost", "", "the SDK of a plugin in Go: a `VERSION` such as v0.1.0, or the directory of its source tree (default: that of this toolhost)")
	_ = cmd.MarkFlagDirname("toolhost")
	cmd.Flags().StringVar(&ci, "ci", "", "add the workflow of a `SERVICE` for releases: "+scaffold.GitHub)
	services := []string{scaffold.GitHub}
	_ = cmd.RegisterFlagCompletionFunc("ci", cobra.FixedCompletions(services, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func languageNames() []string {
	var out []string
	for _, l := range scaffold.Languages() {
		out = append(out, string(l))
	}
	return out
}

// newProject checks the command line.
func newProject(name, language, sdk string) (scaffold.Project, error) {
	p := scaffold.Project{Name: name}
	if err := scaffold.CheckName(name); err != nil {
		return p, exit.With(exit.BadUsage, err)
	}
	var ok bool
	if p.Language, ok = scaffold.ParseLanguage(language); !ok {
		hint := output.Suggest(language, languageNames(), "the languages are "+strings.Join(languageNames(), ", ")+
			"; any other that has gRPC works as docs/plugin-protocol.md says")
		return p, exit.Usage(fmt.Sprintf("there is no project to begin with in %q", language), hint)
	}
	if p.Language != scaffold.Go {
		if sdk != "" {
			return p, exit.Usage("--toolhost is for plugins in Go: the others need no SDK", "leave it out")
		}
		return p, nil
	}
	var err error
	p.Toolhost, err = findSDK(sdk)
	return p, err
}

func findSDK(named string) (scaffold.Module, error) {
	const hint = "--toolhost names a published version, such as v0.1.0, or the directory of a source tree of toolhost"
	if named != "" {
		m, err := scaffold.ParseModule(named)
		if err != nil {
			return m, exit.Usage("the SDK is not there: "+sanitize.Text(err.Error()), hint)
		}
		return m, nil
	}
	info, _ := debug.ReadBuildInfo()
	program, err := os.Executable()
	if err != nil || info == nil {
		return scaffold.Module{}, exit.Usage(scaffold.ErrNoModule.Error(), hint)
	}
	m, err := scaffold.FindModule(info, program)
	if err != nil {
		return m, exit.Usage(err.Error(), hint)
	}
	return m, nil
}

// newProjectJSON is what --json prints.
type newProjectJSON struct {
	Name     string            `json:"name"`
	Language scaffold.Language `json:"language"`
	SDK      *scaffold.Module  `json:"sdk,omitempty"` // of a plugin in Go
	scaffold.Written
}

func writeProject(s *session.Session, p scaffold.Project) error {
	parent, err := os.Getwd()
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	w, err := p.Write(parent)
	switch {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return exit.Usage(fmt.Sprintf("%s exists and is not an empty directory, and was left as it is", p.Name), "choose another name, or another directory to run this in")
	case errors.Is(err, fs.ErrPermission):
		return exit.With(exit.Failed, fmt.Errorf("nothing was written, as %s cannot be written to: %w", sanitize.Text(parent), err))
	case safefile.IsFull(err):
		return exit.With(exit.Failed, fmt.Errorf("nothing was written, as the disk is full: %w", err))
	case err != nil:
		return exit.With(exit.Failed, fmt.Errorf("the project was not written: %w", err))
	}
	if s.Flags.JSON {
		out := newProjectJSON{Name: p.Name, Language: p.Language, Written: w}
		if p.Language == scaffold.Go {
			out.SDK = &p.Toolhost
		}
		return s.Out.JSON(out)
	}
	s.Out.Printf("wrote %s%c, a plugin in %s with the tool %s.add\n", p.Name, filepath.Separator, p.Language.Title(), p.Name)
	if dir := p.Toolhost.Dir; dir != "" {
		s.Out.Printf("its go.mod takes the SDK from %s, as that version is not published\n", sanitize.Text(dir))
	}
	s.Out.Printf(`next:
  cd %s
  make test verify
  toolhost --plugin-dir bin call %s.add --arg text=hello --grant fs:write
README.md says what is where
`, p.Name, p.Name)
	return nil
}
