package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutImport = `Print the MCP servers of a file that another MCP client has as configuration: the lines to
put into the configuration file. Names choose some of the servers. Nothing is started, and no
file is changed: read what they run before you add them.

What looks like a secret is not printed: the configuration gets a reference such as
${API_TOKEN}, and standard error says which variables to set. Their tools are dangerous until
you give them a level under tools: toolhost plugins show NAME shows what they say of themselves.`

func newPluginsImportCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE [NAME...]", Short: "Print the MCP servers of another client's file as configuration",
		Long: aboutImport,
		Example: `  toolhost plugins import ~/.config/Claude/claude_desktop_config.json
  toolhost plugins import .vscode/mcp.json github`,
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
			set, err := serversIn(s, args[0])
			if err != nil { // errors are not shown in completions
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := slices.DeleteFunc(set.Names(), func(name string) bool { return slices.Contains(args[1:], name) })
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return importServers(s, args[0], args[1:]) },
	}
}

func serversIn(s *session.Session, path string) (*servers.Set, error) {
	content, err := servers.Read(path)
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	return s.Settings().ServersOf(config.Default(), content)
}

// importReport is the output of plugins import --json.
type importReport struct {
	Servers   []string         `json:"servers"`
	Variables []servers.Wanted `json:"variables"`
	Text      string           `json:"text"`
}

func importServers(s *session.Session, path string, names []string) error {
	set, err := serversIn(s, path)
	if err != nil {
		return err
	}
	for _, text := range set.Warnings {
		s.Warn(&tool.Error{Message: text})
	}
	for _, name := range names {
		if _, ok := set.Get(name); !ok {
			return exit.Usage(fmt.Sprintf("the file has no server %s", sanitize.Line(name, 100)), "it has "+strings.Join(set.Names(), ", "))
		}
	}
	var moved servers.Moved
	out, lines := importReport{Servers: []string{}}, []string{"mcp_servers:"}
	for _, one := range set.All {
		switch _, there := s.Settings().Config.Servers[one.Name]; {
		case len(names) > 0 && !slices.Contains(names, one.Name):
			continue
		case one.Malformed:
			s.Warn(&tool.Error{Message: fmt.Sprintf("%s: the server %s is left out: %v", one.From, one.Name, one.Err)})
			continue
		case there:
			s.Warn(&tool.Error{Message: fmt.Sprintf("%s: the configuration has a server %s already", one.From, one.Name)})
		}
		out.Servers = append(out.Servers, one.Name)
		for _, line := range moved.Server(one.Entry).Lines(one.Name) {
			lines = append(lines, "  "+line)
		}
	}
	if len(out.Servers) == 0 {
		return exit.Usage("there is no server to import in "+sanitize.Text(path), "name a file that has others")
	}
	out.Variables, out.Text = append([]servers.Wanted{}, moved.Variables...), strings.Join(lines, "\n")+"\n"
	if s.Flags.JSON {
		return s.Out.JSON(out)
	}
	s.Out.Text(out.Text)
	for _, v := range out.Variables {
		s.Err.Printf("set %s in the environment of toolhost: %s\n", v.Name, sanitize.Line(v.For, 0))
	}
	return nil
}
