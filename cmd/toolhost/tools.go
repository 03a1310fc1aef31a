package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutTools = `List the tools of all plugins, MCP servers and hosts of the fleet, sorted by name. A tool has to
pass every filter; of several categories it needs one.

With --for, print their definitions as JSON in the format of a model provider or of MCP:

  openai            "tools" of Chat Completions and compatible APIs
  openai-responses  "tools" of Responses
  anthropic         "tools" of Messages
  gemini            an element of "tools" of generateContent
  mcp               "tools" in the answer to tools/list

Models call tools by aliases, because they accept fewer characters than names
have: fs.read becomes fs_read. toolhost call takes both. MCP takes names as they are.

A provider refuses all tools for one that it does not accept. So schemas are rewritten
where that keeps their meaning, and a tool is left out if nothing else helps. Standard
error says what was changed, and what a model is not told; --json prints an object with
the tools and these notes. toolhost call --for PROVIDER takes the arguments of models; with
--strict, optional arguments may be null, which it takes for absent.`

// toolsCommand is toolhost tools.
type toolsCommand struct {
	s         *session.Session
	filter    host.Filter
	maxSafety string
	on        string // a host of the fleet; empty: any
	provider  string // empty: a list for people
	strict    bool
}

func newToolsCommand(s *session.Session) *cobra.Command {
	c := &toolsCommand{s: s}
	cmd := &cobra.Command{
		Use: "tools", Short: "List the tools, for people or in a model provider's format", Long: aboutTools,
		Example: `  toolhost tools --max-safety safe
  toolhost tools --plugin ./hello
  toolhost tools --for openai --max-safety safe`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.filter.Search, "search", "", "only tools with this `TEXT` in name, title or description")
	flags.StringSliceVar(&c.filter.Categories, "category", nil, "only tools of this `CATEGORY`; may be repeated")
	flags.StringVar(&c.maxSafety, "max-safety", "", "only tools at or below this `LEVEL`: safe, cautious or dangerous")
	flags.StringVar(&c.on, "on", "", "only tools that calls go to on this `HOST` of the fleet")
	flags.StringVar(&c.provider, "for", "", "print definitions for this `PROVIDER`: "+strings.Join(formatNames(), ", "))
	flags.BoolVar(&c.strict, "strict", false, "with --for: hold the model to the schemas, in OpenAI's strict mode, where they allow it")
	s.Flags.BindPlugin(cmd)
	completeFlag(s, cmd, "category", categories)
	_ = cmd.RegisterFlagCompletionFunc("max-safety", cobra.FixedCompletions(safetyLevels(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("on", completeHosts(s))
	cmd.AddCommand(newToolsShowCommand(s))
	return cmd
}

func (c *toolsCommand) run(ctx context.Context) (err error) {
	var needs session.Needs
	if c.on != "" {
		needs.Daemon = "it is the daemon that is in a fleet"
	}
	if c.filter.MaxSafety, err = tool.ParseSafety(c.maxSafety); err != nil {
		return exit.With(exit.BadUsage, err)
	}
	if c.strict && c.provider == "" {
		return exit.Usage("--strict has no effect without --for", "the formats are "+strings.Join(formatNames(), ", "))
	}
	if c.provider != "" {
		if _, err := parseFormat(c.provider); err != nil {
			return err
		}
	}
	return c.s.Use(ctx, needs, func(b *control.Client) (err error) {
		tools, err := b.Tools(ctx, c.filter)
		if err != nil {
			return err
		}
		mounted, err := mountedTools(ctx, b, c.on != "")
		if err != nil {
			return err
		}
		if c.on != "" {
			tools = slices.DeleteFunc(tools, func(t host.Tool) bool { return !slices.Contains(hostsOf(mounted, t.Name), c.on) })
		}
		if note := noPluginsNote(b); note != "" && b.State().Tools == 0 { // else they are other hosts' or MCP servers'
			c.s.Err.Printf("%s\n", note)
		} else if registered := b.State().Tools; registered == 0 {
			c.s.Err.Printf("there are no tools: toolhost plugins says why\n")
		} else if len(tools) == 0 {
			c.s.Err.Printf("no tool matches (%d are registered)\n", registered)
		}
		defer func() { err = errors.Join(err, noneUsable(b)) }()
		if c.provider != "" {
			format, err := parseFormat(c.provider)
			if err != nil {
				return err
			}
			return exportTools(c.s, format, tools, c.strict)
		}
		return listTools(c.s, tools, mounted)
	})
}

// noneUsable returns an error if there are plugins and none of them can be used; else nil.
func noneUsable(b *control.Client) error {
	refused := func(p plugin.Status) bool { return p.State == plugin.Refused }
	if s := b.State(); s.Tools > 0 || !slices.ContainsFunc(s.Plugins, refused) {
		return nil
	}
	return tool.Errorf(tool.CodeUnavailable, "there are no tools, as no plugin can be used").Try("see toolhost plugins, and toolhost doctor")
}

// mountedTools returns the tools of a daemon's fleet. Without a fleet there are none, or, if they are asked
// for, an error.
func mountedTools(ctx context.Context, b *control.Client, asked bool) ([]fleet.ToolStatus, error) {
	if b.State().Fleet == nil && !asked {
		return nil, nil
	}
	r, err := control.Do(ctx, b, daemonv1.DaemonHandler.ListFleetTools, &daemonv1.ListFleetToolsRequest{})
	return control.Structs[fleet.ToolStatus](r.GetTools()), fleetError(err)
}

// hostsOf returns the hosts that calls of a tool go to; none: they stay here.
func hostsOf(mounted []fleet.ToolStatus, name string) (out []string) {
	for _, t := range mounted {
		for _, v := range t.Versions {
			if t.Name == name && v.Used {
				out = append(out, v.Hosts...)
			}
		}
	}
	return out
}

func listTools(s *session.Session, tools []host.Tool, mounted []fleet.ToolStatus) error {
	list := make([]shownTool, len(tools))
	for i, t := range tools {
		list[i] = shown(t)
		list[i].Hosts = hostsOf(mounted, t.Name)
	}
	p := printed[shownTool]{all: list, columns: "NAME|SAFETY|PERMISSION|PLUGIN|DESCRIPTION"}
	if len(mounted) > 0 {
		p.columns = "NAME|SAFETY|PERMISSION|PLUGIN|HOSTS|DESCRIPTION"
	}
	p.row = func(t shownTool) []string {
		row := []string{t.Name, t.Safety.String(), output.OrDash(string(t.Permission)), output.OrDash(t.Owner)}
		if len(mounted) > 0 {
			row = append(row, output.OrDash(printable(strings.Join(t.Hosts, ","))))
		}
		return append(row, output.FirstLine(t.Description))
	}
	return p.print(s)
}

// safetyLevels returns the names of all levels, the least dangerous first.
func safetyLevels() []string {
	var out []string
	for level := tool.Safe; level <= tool.Dangerous; level++ {
		out = append(out, level.String())
	}
	return out
}
