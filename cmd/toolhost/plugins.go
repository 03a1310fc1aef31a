package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newPluginsCommand(s *session.Session) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List, install and manage plugins and MCP servers",
		Long: `List the plugins of all plugin directories, the MCP servers, and the files that were skipped. A process
that was replaced or whose file is gone is listed as draining until its calls have ended.

MCP servers are those under mcp_servers in the configuration, and those of the files that
--mcp-config names, which other MCP clients have. Their tools are served as SERVER.TOOL, and are
called, limited, recorded and pinned as those of plugins are.

An idle one was not started: its tools are known from an earlier run, and its first
call starts it. To start all plugins, set ` + session.CacheVariable + `=` + session.Off + `.

A refused one is listed with the reason; that is not a failure of this command.`,
		Example: `  toolhost plugins
  toolhost plugins --kind mcp --mcp-config .mcp.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kind != "" && !slices.Contains(pluginKinds, kind) {
				return exit.Usage(fmt.Sprintf("--kind %q is not a kind of plugins", kind), "use "+strings.Join(pluginKinds, " or "))
			}
			return s.Use(cmd.Context(), session.Needs{}, func(b *control.Client) error { return listPlugins(s, b, kind) })
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only this `KIND`: "+strings.Join(pluginKinds, " or ")+", which are MCP servers")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(pluginKinds, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(
		newPluginsShowCommand(s), newPluginsRestartCommand(s), newPluginsRollbackCommand(s), newPluginsTraceCommand(s),
		newPluginsEnableCommand(s), newPluginsDisableCommand(s), newPluginsImportCommand(s), newPluginsLoginCommand(s),
	)
	cmd.AddCommand(itself.mark(
		newPluginsLockCommand(s), newPluginsInstallCommand(s), newPluginsUpgradeCommand(s), newPluginsRemoveCommand(s),
	)...)
	return cmd
}

var pluginKinds = []string{"plugin", pluginrun.KindMCP}

// listedPlugin is a plugin or an MCP server as it is listed.
type listedPlugin struct {
	plugin.Status
	server
}

// pluginList is the output of plugins --json.
type pluginList struct {
	Plugins []listedPlugin   `json:"plugins"`
	Skipped []plugin.Skipped `json:"skipped"`
	// Leaving are processes that were replaced or whose file is gone, until their calls end.
	Leaving []plugin.Status `json:"leaving"`
}

func listPlugins(s *session.Session, b *control.Client, kind string) error {
	is := func(p plugin.Status) bool {
		return kind == "" || (kind == pluginrun.KindMCP) == (p.Kind == pluginrun.KindMCP)
	}
	list := pluginList{Plugins: []listedPlugin{}, Skipped: []plugin.Skipped{}, Leaving: []plugin.Status{}}
	set := ownServers(s)
	for _, p := range b.State().Plugins {
		if is(p) {
			list.Plugins = append(list.Plugins, listedPlugin{p, serverOf(set, p)})
		}
	}
	for _, p := range b.State().Leaving {
		if is(p) {
			list.Leaving = append(list.Leaving, p)
		}
	}
	all := slices.Clone(list.Plugins)
	for _, p := range list.Leaving {
		all = append(all, listedPlugin{Status: p})
	}
	none := noPluginsNote(b)
	switch kind {
	case pluginrun.KindMCP:
		none = "no MCP servers: name a file with --mcp-config, or add what toolhost plugins import prints to the configuration"
	default:
		list.Skipped = append(list.Skipped, b.State().Skipped...)
	}
	if s.Flags.JSON && len(all) == 0 && none != "" {
		s.Err.Printf("%s\n", none)
	}
	err := printed[listedPlugin]{
		all: all, json: list, none: none, columns: "NAME|KIND|STATE|PID|VERSION|TOOLS|START|REASON", row: pluginRow,
	}.print(s)
	if s.Flags.JSON || len(list.Skipped) == 0 {
		return err
	}
	s.Out.Printf("\nskipped:\n")
	for _, f := range list.Skipped {
		s.Out.Printf("  %s: %s\n", sanitize.Line(f.Path, 0), sanitize.Line(f.Reason, 0))
	}
	return err
}

func pluginRow(p listedPlugin) []string {
	s := p.Status
	if s.State == plugin.Draining && s.Calls > 0 {
		s.Reason = fmt.Sprintf("ends when its calls have: %d", s.Calls)
	}
	kind := cmp.Or(s.Kind, "plugin")
	if p.Transport != "" {
		kind += " " + p.Transport
	}
	return []string{
		s.Name, kind, string(s.State), output.NumberOrDash(s.PID), output.OrDash(output.FirstLine(s.Version)),
		strconv.Itoa(s.Tools), startTime(s), output.FirstLine(notes(s)),
	}
}

// notes returns what an operator has to know of a plugin, in one line.
func notes(s plugin.Status) string {
	all := []string{s.Reason}
	if s.Upgrade != "" {
		all = append(all, "not upgraded: "+s.Upgrade)
	}
	if s.RolledBack != "" {
		all = append(all, "rolled back: "+s.RolledBack)
	}
	if s.WantsMore != nil {
		all = append(all, "wants more: "+wantsMore(s))
	}
	if len(s.Changed) > 0 {
		all = append(all, changedTools(s))
	}
	if s.Spare != 0 {
		all = append(all, "spare: "+spare(s))
	}
	all = append(append(all, s.Held), pluginrun.LostLines(s.Name, s.Lost)...)
	return strings.Join(slices.DeleteFunc(all, func(note string) bool { return note == "" }), "; ")
}
