package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutImport = `Turn the servers of a file that another MCP client has into configuration: mcp_servers and
tools of the configuration file, of which all other lines stay as they are. With --print the
lines are printed, and no file is changed. Names choose some of the servers.

What the servers run is shown first, and started if you say yes, or --yes: each server once, to ask for
its tools. Without a terminal and --yes nothing is started or changed. For each tool a level is proposed, which
its annotations suggest: what only reads is safe, or cautious if it deals with an open world,
and what destroys nothing is cautious. The annotations are the server's word, so you are
asked for each server whether you accept them, all or some; --yes accepts all. What you accept is
written under tools, and pinned in toolhost.lock with the definitions that you saw, as toolhost plugins lock does: a tool that is described otherwise
later is refused. What you do not accept is dangerous, and is asked about at each call.

What looks like a secret is not copied: the configuration gets a reference such as
${API_TOKEN}, and you are told which variables to set.

A server whose name the configuration has already is left out, except with --force.`

type importOptions struct{ print, yes, force, noLock bool }

func newMCPImportCommand(s *session.Session) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use: "import FILE [NAME...]", Short: "Turn the servers of another MCP client into configuration",
		Long: aboutImport,
		Example: `  toolhost plugins import ~/.config/Claude/claude_desktop_config.json
  toolhost plugins import .vscode/mcp.json github --print`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s needs the file of another MCP client", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return serversIn(s, args[0], args[1:]), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return importServers(cmd.Context(), s, args[0], args[1:], o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.print, "print", false, "print the lines, and change no file")
	flags.BoolVar(&o.yes, "yes", false, "start the servers, and accept all proposed levels")
	flags.BoolVar(&o.force, "force", false, "replace servers that the configuration has already")
	flags.BoolVar(&o.noLock, "no-lock", false, "do not pin what is accepted")
	return cmd
}

// serversIn completes the names of a file's servers, without those that were given.
func serversIn(s *session.Session, path string, given []string) (names []string) {
	content, err := servers.Read(path)
	if err != nil {
		return nil
	}
	set, err := s.Settings().ServersOf(config.Default(), content)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(set.Names(), func(name string) bool { return slices.Contains(given, name) })
}

// imported is a server that is turned into configuration.
type imported struct {
	Name string `json:"name"`
	From string `json:"from"`
	// Problem is why its tools are not known; empty: they are.
	Problem string             `json:"problem,omitempty"`
	Tools   []servers.Proposal `json:"tools"`
}

// importReport is the output of mcp import --json.
type importReport struct {
	File      string           `json:"file,omitempty"` // that was changed
	Servers   []imported       `json:"servers"`
	Variables []servers.Wanted `json:"variables"`
	Lock      string           `json:"lock,omitempty"` // that pins them
	Text      string           `json:"text,omitempty"` // with --print
}

func importServers(ctx context.Context, s *session.Session, path string, names []string, o importOptions) error {
	content, err := servers.Read(path)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	c := s.Settings().Config
	set, err := s.Settings().ServersOf(config.Default(), content)
	if err != nil {
		return err
	}
	for _, text := range set.Warnings {
		s.Warn(&tool.Error{Message: text})
	}
	if err := choose(s, set, c, names, o.force); err != nil {
		return err
	}
	if len(set.All) == 0 {
		return exit.Usage("there is no server to import in "+sanitize.Text(path), "name a file that has others, or say --force")
	}
	var moved servers.Moved
	var entries, levels [][]string
	for i := range set.All { // what is pinned is the server of the configuration
		set.All[i].Server = moved.Server(set.All[i].Entry)
		entries = append(entries, set.All[i].Server.Lines(set.All[i].Name))
	}
	if err := mayStart(ctx, s, set, o.yes); err != nil {
		return err
	}
	found, seen, err := askServers(ctx, s, set)
	if err != nil {
		return err
	}
	report := importReport{Servers: found, Variables: append([]servers.Wanted{}, moved.Variables...)}
	if err := acceptLevels(ctx, s, report.Servers, o.yes); err != nil {
		return err
	}
	for _, one := range report.Servers {
		for _, t := range one.Tools {
			if _, decided := c.Tools[t.Tool]; t.Accepted && !decided {
				levels = append(levels, []string{config.ToolLine(t.Tool, t.Safety, t.Idempotent)})
			}
		}
	}
	if o.print {
		return printImport(s, report, entries, levels)
	}
	if report.File, err = writeImport(s, entries, levels); err != nil {
		return err
	}
	if err := giveLevels(set, seen, report.Servers); err != nil {
		s.Warn(&tool.Error{Message: "the levels are those of the definitions that come next: " + err.Error()})
	}
	if len(levels) == 0 || o.noLock {
		seen = nil
	}
	return finishImport(ctx, s, report, seen)
}

// giveLevels records that levels were accepted for the definitions that were seen.
func giveLevels(set *servers.Set, seen *lockfile.Lock, all []imported) error {
	book, err := known.OpenOwn()
	if err != nil {
		return err
	}
	return book.Note(func(records known.Records) {
		for _, one := range all {
			named, _ := set.Get(one.Name)
			for _, t := range one.Tools {
				if definition := seen.Plugins[one.Name].Tools[t.Tool]; t.Accepted && definition != "" {
					records.Give(named.Record(), known.LevelKey(t.Tool, t.Safety), definition)
				}
			}
		}
	})
}

// choose leaves in the set what is to be imported.
func choose(s *session.Session, set *servers.Set, c *config.Config, names []string, force bool) error {
	wanted := map[string]bool{}
	for _, name := range names {
		if _, ok := set.Get(name); !ok {
			return exit.Usage(fmt.Sprintf("the file has no server %s", sanitize.Line(name, 100)),
				"toolhost plugins --kind mcp --mcp-config FILE has the names")
		}
		wanted[name] = true
	}
	var all []servers.Named
	for _, one := range set.All {
		_, there := c.Servers[one.Name]
		switch {
		case len(wanted) > 0 && !wanted[one.Name]:
		case one.Malformed:
			s.Warn(&tool.Error{Message: fmt.Sprintf("%s: the server %s is left out: %v", one.From, one.Name, one.Err)})
		case there && !force:
			s.Warn(&tool.Error{
				Message: fmt.Sprintf("%s: the server %s is left out: the configuration has it already", one.From, one.Name),
				Hint:    "to replace it, say --force",
			})
		default:
			all = append(all, one)
		}
	}
	set.All = all
	return nil
}

// mayStart shows what the file would have started, and asks whether it may be.
func mayStart(ctx context.Context, s *session.Session, set *servers.Set, yes bool) error {
	var shown strings.Builder
	for _, one := range set.All {
		fmt.Fprintf(&shown, "%s (%s)\n  %s\n", one.Name, sanitize.Line(one.From, 0), sanitize.Line(one.Shown(), 0))
		var names []string
		for _, v := range one.Server.Env {
			names = append(names, v.Name)
		}
		if one.Server.EnvFile != "" {
			names = append(names, "those in "+one.Server.EnvFile)
		}
		if len(names) > 0 {
			fmt.Fprintf(&shown, "  with the variables %s\n", sanitize.Line(strings.Join(names, ", "), 0))
		}
	}
	if yes {
		if !s.Flags.JSON {
			s.Err.Printf("%s", shown.String())
		}
		return nil
	}
	t, err := s.OpenTerminal()
	if s.Flags.JSON || err != nil {
		return exit.Usage("nothing was started or changed, as these would be started to ask for their tools:\n"+shown.String(),
			"look at them; --yes starts them, and accepts the levels that are proposed")
	}
	defer func() { _ = t.Close() }()
	if ok, err := terminal.Confirm(ctx, t, shown.String(), "Start them, to ask for their tools? [y/N] "); err != nil || ok {
		return err
	}
	return exit.With(exit.Refused, errors.New("nothing was started or changed"))
}

// askServers starts the servers, on a host of their own without a lock, and asks for their tools.
// Seen are their pins.
func askServers(
	ctx context.Context, s *session.Session, set *servers.Set,
) (all []imported, seen *lockfile.Lock, err error) {
	t := s.Settings()
	loaded := setup.Loaded{Config: t.Config}
	if loaded.Plugins, err = setup.PluginSettings(config.Default(), setup.Run{}); err != nil {
		return nil, nil, err
	}
	var recorder host.Recorder
	opts := []host.Option{host.WithLocks(), host.WithRecorder(&recorder)}
	l, err := s.NewLocal(t, &loaded, session.Needs{Uncached: true, Options: opts})
	if err != nil {
		return nil, nil, err
	}
	faults := session.Faults(l.Mounts.Sync(ctx, set))
	for _, named := range set.All {
		one := imported{Name: named.Name, From: named.From, Tools: []servers.Proposal{}}
		var problems []string
		for _, f := range faults {
			if f.Plugin == named.Name {
				problems = append(problems, f.Message)
			}
		}
		one.Problem = strings.Join(problems, "; ")
		if u := l.Mounts.Upstream(named.Name); u != nil {
			var defs []tool.Definition
			for _, t := range l.Host.Tools(host.Filter{}) {
				if t.Owner == named.Name && !t.Own {
					defs = append(defs, t.Definition)
				}
			}
			one.Tools = servers.Propose(defs, u.Annotations())
		}
		all = append(all, one)
	}
	return all, recorder.Lock(), errors.Join(context.Cause(ctx), l.Close(ctx))
}

// acceptLevels shows the proposals, and asks for each server whether they are accepted.
func acceptLevels(ctx context.Context, s *session.Session, all []imported, yes bool) error {
	var t terminal.Terminal
	if !yes && !s.Flags.JSON {
		if opened, err := s.OpenTerminal(); err == nil {
			t = opened
			defer func() { _ = t.Close() }()
		}
	}
	for _, one := range all {
		if !s.Flags.JSON {
			showProposals(s.Err, one)
		}
		var proposed []*servers.Proposal
		for i := range one.Tools {
			if one.Tools[i].Safety < tool.Dangerous {
				proposed = append(proposed, &one.Tools[i])
			}
		}
		accept := func(*servers.Proposal) (bool, error) { return yes, nil }
		if t != nil && len(proposed) > 0 {
			answer, err := terminal.Prompt(ctx, t, "", fmt.Sprintf("Accept these levels for %s? [y/N, or c to choose] ", one.Name))
			if err != nil {
				return err
			}
			accept = func(*servers.Proposal) (bool, error) { return terminal.Yes(answer), nil }
			if strings.EqualFold(answer, "c") {
				accept = func(p *servers.Proposal) (bool, error) {
					return terminal.Confirm(ctx, t, "", fmt.Sprintf("  %s: %v? [y/N] ", p.Tool, p.Safety))
				}
			}
		}
		for _, p := range proposed {
			var err error
			if p.Accepted, err = accept(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func showProposals(to *output.Writer, one imported) {
	to.Printf("\n%s (%s)\n", one.Name, sanitize.Line(one.From, 0))
	if one.Problem != "" {
		to.Printf("  its tools are not known, so all are dangerous: %s\n", sanitize.Line(one.Problem, 0))
		return
	}
	t := output.Table{{"  TOOL", "PROPOSED", "ANNOTATIONS"}}
	descriptions := map[string]string{}
	for _, p := range one.Tools {
		t.Add("  "+p.Tool, p.Safety.String(), output.OrDash(strings.Join(p.Annotations, ", ")))
		descriptions[p.Tool] = p.Description
	}
	to.Table(t)
	printDescriptions(to, descriptions, slices.Sorted(maps.Keys(descriptions)))
}
