package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newMCPShowCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show an MCP server: its state, how it is reached, its sandbox and its tools",
		Long: `Show an MCP server: its state and why it cannot be used, how it is reached, what its process
may do, and its tools, with the level that holds. Values of variables and headers are not shown, nor what looks like
a secret in arguments and URLs. toolhost plugins show NAME has more of its runs, and toolhost
plugins logs NAME what it has written to the daemon.`,
		Example: "  toolhost plugins show github",
		Args:    oneName("an MCP server"), ValidArgsFunction: completeArgument(s, serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Use(cmd.Context(), session.Needs{Shown: args[0]}, func(b session.Backend) error {
				return showServer(cmd.Context(), s, b, args[0])
			})
		},
	}
}

// shownServer is an MCP server with its tools and faults.
type shownServer struct {
	server
	// Sandbox is what its process may do; nil: it has none.
	Sandbox *plugin.SandboxStatus `json:"sandbox,omitempty"`
	Command string                `json:"command,omitempty"`
	Args    []string              `json:"args,omitempty"`
	Dir     string                `json:"cwd,omitempty"`
	EnvFile string                `json:"env_file,omitempty"`
	URL     string                `json:"url,omitempty"`
	// Env and Headers are names.
	Env     []string         `json:"env,omitempty"`
	Headers []string         `json:"headers,omitempty"`
	Tools   []serverTool     `json:"tools"`
	Faults  []output.Failure `json:"faults"`
}

// serverTool is a tool of an MCP server.
type serverTool struct {
	Name     string      `json:"name"`
	Safety   tool.Safety `json:"safety"`
	Claimed  tool.Safety `json:"claimed_safety"`
	Approval string      `json:"approval"`
}

func findServer(s *session.Session, b session.Backend, name string) (server, error) {
	var names []string
	for _, one := range serversOf(s, b) {
		if one.Name == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	return server{}, unknownServer(name, names)
}

func unknownServer(name string, names []string) error {
	hint := "see toolhost plugins --kind mcp"
	if near := suggest.Nearest(name, names, 3); len(near) > 0 {
		hint = output.DidYouMean(near)
	}
	return exit.Usage(fmt.Sprintf("there is no MCP server %s", sanitize.Line(name, 100)), hint)
}

func showServer(ctx context.Context, s *session.Session, b session.Backend, name string) error {
	one, err := findServer(s, b, name)
	if err != nil {
		return err
	}
	p := shownServer{server: one, Tools: []serverTool{}, Faults: []output.Failure{}}
	if p.Sandbox, err = b.Sandbox(ctx, name); err != nil {
		return err
	}
	says := one.named.Server
	p.Command, p.Args, p.Dir, p.EnvFile, p.URL = says.Command, says.Args.Shown(), says.Dir, says.EnvFile, says.URL.Shown()
	for _, v := range says.Env {
		p.Env = append(p.Env, v.Name)
	}
	for _, v := range says.Headers {
		p.Headers = append(p.Headers, v.Name)
	}
	all, err := b.Tools(ctx, host.Filter{})
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Owner == name {
			p.Tools = append(p.Tools, serverTool{t.Name, t.Safety.Effective(), t.Claimed.Safety, string(t.Approval)})
		}
	}
	for _, e := range b.Faults() {
		if e.Plugin == name && !session.IsLost(e, b.Plugins()) {
			p.Faults = append(p.Faults, output.FailureOf(e))
		}
	}
	if s.Flags.JSON {
		return s.Out.JSON(p)
	}
	s.Out.Fields(p.fields())
	printSandbox(s.Out, p.Sandbox)
	s.Out.Failures(p.Faults)
	if len(p.Tools) > 0 {
		s.Out.Printf("\n")
		t := output.Table{{"TOOL", "SAFETY", "CLAIMED", "APPROVAL"}}
		for _, one := range p.Tools {
			t.Add(one.Name, one.Safety.String(), output.OrDash(one.Claimed.String()), output.OrDash(one.Approval))
		}
		s.Out.Table(t)
	}
	return nil
}

func (p shownServer) fields() []output.Field {
	of := shownPlugin{Status: p.Status, Sandbox: p.Sandbox}
	skip := map[string]bool{"path": true, "carrier": true, "sdk": true, "kept": true, "tools": true, "won names": true}
	reached := strings.Join(append([]string{p.Command}, p.Args...), " ")
	if p.Command == "" {
		reached = p.URL
	}
	if reached == "" {
		reached = p.Path
	}
	out := []output.Field{}
	for _, f := range of.fields() {
		if skip[f.Name] {
			continue
		}
		out = append(out, f)
		if f.Name == "name" {
			out = append(out,
				output.Field{Name: "from", Value: p.From},
				output.Field{Name: "transport", Value: p.Transport},
				output.Field{Name: "reached by", Value: reached},
				output.Field{Name: "cwd", Value: p.Dir},
				output.Field{Name: "environment", Value: strings.Join(p.Env, ", ")},
				output.Field{Name: "env file", Value: p.EnvFile},
				output.Field{Name: "headers", Value: strings.Join(p.Headers, ", ")})
		}
	}
	return out
}
