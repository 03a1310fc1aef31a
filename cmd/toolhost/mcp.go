package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

const aboutMCP = `Mount MCP servers and look at them. Their tools are served as SERVER.TOOL, and are called,
limited, recorded and pinned as those of plugins are.

The servers are those under mcp_servers in the configuration, and those of files that other
MCP clients have (Claude Desktop, Claude Code, Cursor, VS Code), which --mcp-config names
and mcp import turns into configuration. Variables such as ${API_TOKEN} are replaced; one that is
not set costs its server only. A tool is dangerous until you say otherwise.

toolhost plugins shows them too; plugins restart, enable, disable, logs and lock work on them.

Without a subcommand this lists the servers, as mcp list does.`

func newMCPCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Mount MCP servers and look at them", Long: aboutMCP,
		Example: `  toolhost plugins --kind mcp --mcp-config .mcp.json
  toolhost call files.read_file --arg path=go.mod --yes --mcp-config .mcp.json
  toolhost plugins import ~/.config/Claude/claude_desktop_config.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listServers(cmd.Context(), s) },
	}
	cmd.AddCommand(newMCPListCommand(s), newMCPShowCommand(s), newMCPImportCommand(s),
		newMCPLoginCommand(s), newMCPLogoutCommand(s))
	return cmd
}
