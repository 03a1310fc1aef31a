package main

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

func newMCPListCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the MCP servers: their states, transports and tools",
		Long: `List the MCP servers that are mounted, and those that cannot be, with the reason. A server
that is idle was not started: its tools are known from an earlier run, and its first call
starts it.`,
		Example: `  toolhost mcp list
  toolhost mcp list --mcp-config .mcp.json --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listServers(cmd.Context(), s) },
	}
}

// server is an MCP server as it is printed.
type server struct {
	plugin.Status
	// Transport is stdio, http or sse; empty: it is not known.
	Transport string `json:"transport,omitempty"`
	// From is the file that has it, FILE:LINE; empty: it is not known.
	From string `json:"from,omitempty"`

	named servers.Named
}

// serversOf returns the MCP servers of a backend, sorted by name.
func serversOf(s *session.Session, b session.Backend) []server {
	set := &servers.Set{}
	if s.Unread() == nil { // else the daemon's are all that is known
		if own, err := s.Settings().Servers(); err == nil {
			set = own
		}
	}
	out := []server{}
	for _, status := range b.Plugins() {
		if status.Kind != pluginrun.KindMCP {
			continue
		}
		one := server{Status: status}
		if named, ok := set.Get(status.Name); ok {
			one.named, one.Transport, one.From = named, named.Transport(), named.From
		}
		out = append(out, one)
	}
	return out
}

func listServers(ctx context.Context, s *session.Session) error {
	return s.Use(ctx, session.Needs{}, func(b session.Backend) error {
		all := serversOf(s, b)
		if s.Flags.JSON {
			return s.Out.JSON(map[string]any{"servers": all})
		}
		if len(all) == 0 {
			s.Err.Printf("no MCP servers: name a file with --mcp-config, or add them with toolhost mcp import\n")
			return nil
		}
		t := output.Table{{"NAME", "STATE", "TRANSPORT", "TOOLS", "FROM", "REASON"}}
		for _, one := range all {
			t.Add(one.Name, string(one.State), output.OrDash(one.Transport), strconv.Itoa(one.Tools),
				output.OrDash(filepath.Base(one.From)), output.FirstLine(notes(one.Status)))
		}
		s.Out.Table(t)
		return nil
	})
}

// serverNames completes the names of MCP servers.
func serverNames(_ context.Context, b session.Backend) []string {
	var out []string
	for _, status := range b.Plugins() {
		if status.Kind == pluginrun.KindMCP {
			out = append(out, status.Name+"\t"+string(status.State))
		}
	}
	return out
}
