package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutTrace = `Run a plugin, or an MCP server, and print the sandbox that it needs.

The plugin is started without a sandbox and, if a tool is named, that is called as toolhost call
does: with the same arguments, flags, grants and approval. What the plugin and all that it starts
read, write, connect to and start meanwhile is printed as lines for toolhost.yaml, without what
every plugin has. Calls that were not made are not covered, so call what the plugin is for, and
read the lines before you use them. With --json they are as the author declares them (Needs).

Nothing is refused while a plugin is traced: trace what you would run without a sandbox. Its proxy
variables name a proxy of the host, which learns the names of hosts; what connects past it to other
machines needs net: any. Paths below /proc and /sys, and what was only looked for, are left out.

This needs Linux. No daemon is used, and no other plugin is started.`

// traceCommand is toolhost plugins trace.
type traceCommand struct{ callCommand }

func newPluginsTraceCommand(s *session.Session) *cobra.Command {
	c := traceCommand{callCommand{s: s}}
	cmd := &cobra.Command{
		Use:   "trace NAME [-- TOOL [JSON | @FILE | -]]",
		Short: "Run a plugin, and print the sandbox that it needs",
		Long:  aboutTrace,
		Example: `  toolhost plugins trace fs
  toolhost plugins trace fs -- fs.read '{"path":"README.md"}' --grant fs:read`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s needs the name of a plugin", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := pluginNames
			if len(args) > 0 {
				words = toolNames
			}
			return completeArgument(s, words)(cmd, args[min(len(args), 1):], "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := afterDash(cmd, args)
			if err != nil {
				return err
			}
			return c.run(cmd, line[0], line[1:])
		},
	}
	c.bind(cmd)
	return cmd
}

// afterDash returns the words of a command line of which the flags after -- are flags, too.
func afterDash(cmd *cobra.Command, args []string) ([]string, error) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	rest := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	rest.AddFlagSet(cmd.LocalNonPersistentFlags())
	if err := rest.Parse(args[at:]); err != nil {
		return nil, usageIn(cmd, err)
	}
	return slices.Concat(args[:at], rest.Args()), nil
}

func (c *traceCommand) run(cmd *cobra.Command, name string, call []string) (err error) {
	var r request
	if len(call) > 0 {
		if err := callArguments(cmd, call); err != nil {
			return usageIn(cmd, err)
		}
		if r, err = c.request(cmd.Context(), call[0], call[1:]); err != nil {
			return err
		}
	}
	trace := observe.New()
	out, err := c.trace(cmd.Context(), &session.Traced{Name: name, By: trace}, r)
	if out == nil {
		return err
	}
	out.Needs, out.Notes = trace.Proposal()
	out.compare()
	if c.s.Flags.JSON {
		if bad := c.s.Out.JSON(out); bad != nil {
			return bad
		}
		return err
	}
	c.s.Out.Text(out.yaml())
	return err
}

// trace runs the plugin. It returns nil if the plugin does not run, and otherwise the error of
// the call.
func (c *traceCommand) trace(ctx context.Context, of *session.Traced, r request) (out *traced, err error) {
	needs := session.Needs{Trace: of, Uncached: true, Record: r.name != "", Audit: c.audit, Shown: of.Name}
	l, err := c.s.OpenLocal(ctx, needs)
	if err != nil {
		return nil, err
	}
	closed := false
	end := func() error {
		if closed {
			return nil
		}
		closed = true
		return l.Close(ctx)
	}
	defer func() { _ = end() }()
	status, ok := session.Status(l.Host.Plugins(), of.Name)
	switch {
	case !ok:
		return nil, unknownPlugin(l.Client(), of.Name)
	case status.State == plugin.Disabled:
		return nil, exit.Usage("the plugin "+of.Name+" is disabled", "toolhost plugins enable "+of.Name)
	}
	server, isServer := l.Loaded.Servers.Get(of.Name)
	if isServer && server.Server.URL != "" {
		return nil, exit.Usage("the MCP server "+of.Name+" is not a process of this system", "")
	}
	for _, fault := range l.Faults {
		if fault.Plugin == of.Name && fault.Tool == "" {
			return nil, fault
		}
	}
	out = &traced{Plugin: of.Name, Declared: status.Needs, key: "plugins"}
	if isServer {
		out.key = "mcp_servers"
	}
	if r.name != "" {
		answer, bad := c.call(ctx, l.Client(), r)
		if err = bad; bad == nil {
			err = failure(answer)
		}
	}
	if bad := end(); err == nil {
		err = bad
	} else if tool.AsError(err).Unsent {
		return nil, err
	}
	return out, err
}

// traced is the output of plugins trace --json.
type traced struct {
	Plugin string `json:"plugin"`
	// Needs is what it used.
	Needs *tool.Needs `json:"needs"`
	// Declared is what it declares; nil: it does not.
	Declared *tool.Needs `json:"declared"`
	// More was used and is not declared, and Less is declared and was not used.
	More  []string `json:"more"`
	Less  []string `json:"less"`
	Notes []string `json:"notes"`

	key string
}

func (t *traced) compare() {
	lines := func(all need.Diff) []string {
		out := []string{}
		for _, c := range all.Larger() {
			if !grant.IsAmount(c.Line) {
				out = append(out, c.Line+": "+c.Is)
			}
		}
		return out
	}
	t.More, t.Less = []string{}, []string{}
	if t.Declared != nil {
		t.More, t.Less = lines(need.Changes(t.Needs, t.Declared)), lines(need.Changes(t.Declared, t.Needs))
	}
	t.Notes = append([]string{}, t.Notes...)
}

// yaml returns the sandbox as it stands in toolhost.yaml.
func (t *traced) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n  %s:\n    sandbox:\n", t.key, yamlText(t.Plugin))
	for _, line := range grant.Lists {
		var texts []string
		for _, entry := range *line.List(t.Needs) {
			texts = append(texts, yamlText(entry))
		}
		list := "[" + strings.Join(texts, ", ") + "]"
		switch {
		case len(texts) == 0:
			list = "none"
		case slices.Equal(texts, []string{tool.Any}):
			list = tool.Any
		}
		fmt.Fprintf(&b, "      %s: %s\n", line.Name, list)
	}
	comment := func(what string, texts ...string) {
		if len(texts) > 0 {
			fmt.Fprintf(&b, "# %s%s\n", what, sanitize.Line(strings.Join(texts, "; "), 0))
		}
	}
	comment("used and not declared: ", t.More...)
	comment("declared and not used: ", t.Less...)
	for _, note := range t.Notes {
		comment("", note)
	}
	return b.String()
}

// plain matches texts that YAML takes for what they are in a list.
var plain = lazy.Regexp(`^[A-Za-z0-9_./~@+][A-Za-z0-9_./~@+:-]*$`)

func yamlText(s string) string {
	if plain().MatchString(s) && !strings.HasSuffix(s, ":") {
		return s
	}
	return strconv.QuoteToGraphic(s)
}
