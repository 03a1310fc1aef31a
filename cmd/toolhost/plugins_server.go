package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// server is how an MCP server is reached, as it is printed. Env and Headers are names.
type server struct {
	// Transport is stdio, http or sse; empty: it is not known, or no server.
	Transport string `json:"transport,omitempty"`
	// From is the file that has it, FILE:LINE; empty: it is not known.
	From    string   `json:"from,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Dir     string   `json:"cwd,omitempty"`
	EnvFile string   `json:"env_file,omitempty"`
	URL     string   `json:"url,omitempty"`
	Env     []string `json:"env,omitempty"`
	Headers []string `json:"headers,omitempty"`
	// Revision is the revision of MCP that it speaks; empty: it was not connected to yet.
	Revision string `json:"revision,omitempty"`
	// Arguments is unchecked if they are left to it.
	Arguments config.ArgumentCheck `json:"arguments,omitempty"`
}

// ownServers returns the MCP servers that this command knows: while the configuration cannot be read, none.
func ownServers(s *session.Session) *servers.Set {
	if s.Unread() == nil {
		if own, err := s.Settings().Servers(); err == nil {
			return own
		}
	}
	return &servers.Set{}
}

// serverOf returns how a plugin is reached if it is an MCP server of the set.
func serverOf(set *servers.Set, p plugin.Status) (out server) {
	named, ok := set.Get(p.Name)
	if !ok || p.Kind != pluginrun.KindMCP {
		return out
	}
	of := named.Server
	out = server{
		Transport: named.Transport(), From: named.From, Command: of.Command, Args: of.Args.Shown(),
		Dir: of.Dir, EnvFile: of.EnvFile, URL: of.URL.Shown(), Revision: strings.TrimPrefix(p.SDK, "mcp/"),
	}
	if of.Arguments == config.Unchecked {
		out.Arguments = config.Unchecked
	}
	for _, v := range of.Env {
		out.Env = append(out.Env, v.Name)
	}
	for _, v := range of.Headers {
		out.Headers = append(out.Headers, v.Name)
	}
	return out
}

// fields are what only servers have.
func (v server) fields() []output.Field {
	reached := v.URL
	if v.Command != "" {
		reached = strings.Join(append([]string{v.Command}, v.Args...), " ")
	}
	return []output.Field{
		{Name: "from", Value: v.From}, {Name: "transport", Value: v.Transport}, {Name: "reached by", Value: reached}, {Name: "cwd", Value: v.Dir},
		{Name: "environment", Value: strings.Join(v.Env, ", ")}, {Name: "env file", Value: v.EnvFile},
		{Name: "headers", Value: strings.Join(v.Headers, ", ")}, {Name: "revision", Value: v.Revision},
		{Name: "arguments", Value: string(v.Arguments)},
	}
}

func unknownServer(name string, names []string) error {
	return exit.Usage(fmt.Sprintf("there is no MCP server %s", sanitize.Line(name, 100)),
		output.Suggest(name, names, "see toolhost plugins --kind mcp"))
}

// serverNames completes the names of MCP servers.
func serverNames(_ context.Context, b *control.Client) []string {
	var out []string
	for _, status := range b.State().Plugins {
		if status.Kind == pluginrun.KindMCP {
			out = append(out, status.Name+"\t"+string(status.State))
		}
	}
	return out
}
