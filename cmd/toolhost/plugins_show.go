package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suspect"
)

func newPluginsShowCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME | REF",
		Short: "Show everything about a plugin, or a package that could be installed",
		Long: `Show everything about a plugin or an MCP server: its state and why it cannot be used, how a server is
reached, what its process may do, and its tools with the levels that hold and what they say of
themselves, whole. Values of variables and headers are not shown, nor what looks like a secret
in arguments and URLs.

Of a REF, a package as toolhost plugins install takes it, show what would be installed: what
toolhost dev inspect shows.`,
		Example: `  toolhost plugins show fs
  toolhost plugins show oci://registry.example/tools/files:1.2.0`,
		Args:              oneName("a plugin"),
		ValidArgsFunction: completeArgument(s, pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.ContainsAny(args[0], "/#") || strings.HasSuffix(args[0], ".tar") { // which names have not
				return inspectPackage(cmd.Context(), s, args[0])
			}
			return s.Use(cmd.Context(), session.Needs{Shown: args[0]}, func(b *control.Client) error {
				return showPlugin(cmd.Context(), s, b, args[0])
			})
		},
	}
}

// shownPlugin is a plugin with its tools and faults.
type shownPlugin struct {
	plugin.Status
	server
	// Sandbox is what its process may do; nil: it has none.
	Sandbox   *plugin.SandboxStatus `json:"sandbox,omitempty"`
	ToolNames []string              `json:"tool_names"`
	// Faults have the form of all errors, with their evidence.
	Faults []output.Failure `json:"faults"`
	// Warnings says what is not checked of the schemas of its tools.
	Warnings []string `json:"warnings,omitempty"`
	// Won are the names of its tools that another plugin wants too.
	Won []wonName `json:"won,omitempty"`
}

// wonName is a name that another plugin wants too.
type wonName struct {
	Tool string `json:"tool"`
	From string `json:"from"`
}

func showPlugin(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	state := b.State()
	status, ok := session.Status(state.Plugins, name)
	if !ok {
		return unknownPlugin(b, name)
	}
	tools, err := b.Tools(ctx, host.Filter{})
	if err != nil {
		return err
	}
	p := shownPlugin{Status: status, server: serverOf(ownServers(s), status), ToolNames: []string{}, Faults: []output.Failure{}}
	if p.Sandbox, err = b.Sandbox(ctx, name); err != nil {
		return err
	}
	for _, other := range state.Plugins {
		for _, l := range other.Lost {
			if l.To == name {
				p.Won = append(p.Won, wonName{l.Tool, other.Name})
			}
		}
	}
	descriptions, levels, all := map[string]string{}, map[string]string{}, []string{}
	for _, t := range tools {
		all = append(all, t.Name)
		if t.Owner != name {
			continue
		}
		p.ToolNames = append(p.ToolNames, t.Name)
		descriptions[t.Name], levels[t.Name] = t.Description, t.Safety.Effective().String()
		if t.Claimed.Safety != t.Safety {
			levels[t.Name] += claimed(t.Claimed.Safety.String())
		}
		warnings, err := warningsOf(ctx, b, t)
		if err != nil {
			return err
		}
		for _, w := range warnings {
			p.Warnings = append(p.Warnings, t.Name+": "+w)
		}
	}
	for _, e := range state.Faults {
		if e.Plugin == name && !session.IsLost(e, state.Plugins) {
			f := output.FailureOf(e)
			f.Hint = strings.TrimPrefix(strings.Replace(f.Hint, "see toolhost plugins show "+name, "", 1), "; ") // this is it
			p.Faults = append(p.Faults, f)
		}
	}
	if s.Flags.JSON {
		return s.Out.JSON(p)
	}
	s.Out.Fields(p.fields())
	printSchema(s.Out, "configuration", p.ConfigSchema)
	printSandbox(s.Out, p.Sandbox)
	s.Out.Failures(p.Faults)
	printList(s.Out, "not checked, so the tools have to", p.Warnings)
	for _, name := range slices.Sorted(maps.Keys(descriptions)) { // whole, with marks at what may be meant for models alone
		text := sanitize.Text(suspect.Mark(descriptions[name], name, all))
		s.Out.Printf("\n%s, %s\n%s\n", sanitize.Line(name, 0), levels[name], output.Indent(s.Out.Wrapped(text, 2), "  "))
	}
	return nil
}

// warningsOf returns what is not checked of a tool's schemas. To find out takes compiling
// them, so it is done only for tools with patterns.
func warningsOf(ctx context.Context, b *control.Client, t host.Tool) ([]string, error) {
	if !bytes.Contains(t.InputSchema, []byte(`"pattern`)) && !bytes.Contains(t.OutputSchema, []byte(`"pattern`)) {
		return nil, nil
	}
	t, _, err := b.Tool(ctx, t.Name)
	return t.Warnings, err
}

func (p shownPlugin) fields() []output.Field {
	since, lastFault, retry := "", "", ""
	if time.Until(p.RetryAt) > 0 {
		retry = p.RetryAt.Local().Format(time.RFC3339) + " at the earliest, or with toolhost plugins restart " + p.Name
	}
	if !p.Since.IsZero() {
		since = p.Since.Format(time.RFC3339)
	}
	if f := p.LastFault; f != nil {
		lastFault = f.Time.Format(time.RFC3339) + " " + f.Text
	}
	return append(append([]output.Field{{Name: "name", Value: p.Name}}, p.server.fields()...), []output.Field{
		{Name: "path", Value: p.Path},
		{Name: "state", Value: string(p.State)},
		{Name: "reason", Value: p.Reason},
		{Name: "tried again", Value: retry},
		{Name: "upgrade", Value: p.Upgrade},
		{Name: "rolled back", Value: p.RolledBack},
		{Name: "held", Value: p.Held},
		{Name: "wants more", Value: wantsMore(p.Status)},
		{Name: "changed", Value: changedTools(p.Status)},
		{Name: "lost names", Value: strings.Join(pluginrun.LostLines(p.Name, p.Lost), "; ")},
		{Name: "won names", Value: p.won()},
		{Name: "last fault", Value: lastFault},
		{Name: "output", Value: p.Output},
		{Name: "pid", Value: output.NumberOrDash(p.PID)},
		{Name: "spare", Value: spare(p.Status)},
		{Name: "carrier", Value: output.OrDash(string(p.Carrier))},
		{Name: "version", Value: output.OrDash(p.Version)},
		{Name: "sdk", Value: output.OrDash(p.SDK)},
		{Name: "signed", Value: signature(p.Status)},
		{Name: "needs", Value: needs(p.Status)},
		{Name: "sandbox", Value: sandboxLevel(p.Sandbox)},
		{Name: "open", Value: openTo(p.Sandbox)},
		{Name: "uses", Value: usage(p.Usage)},
		{Name: "start took", Value: startTime(p.Status)},
		{Name: "ready since", Value: since},
		{Name: "starts", Value: strconv.Itoa(p.Starts)},
		{Name: "calls", Value: strconv.Itoa(p.Calls)},
		{Name: "kept", Value: keptBinaries(p.Kept)},
		{Name: "tools", Value: output.OrDash(strings.Join(p.ToolNames, ", "))},
		{Name: "besides", Value: besides(p.Offers)},
	}...)
}

// usage says what a plugin's processes use; empty: it has had none.
func usage(u *plugin.Usage) string {
	if u == nil {
		return ""
	}
	how := "by its processes"
	if u.Group {
		how = "by its control group"
	}
	const mebi = 1 << 20
	return fmt.Sprintf("CPU %v in all, memory %.1f MiB (at most %.1f), descriptors %d, refused %d; %s", time.Duration(u.CPU).Round(time.Millisecond),
		float64(u.Memory)/mebi, float64(u.MaxMemory)/mebi, u.Descriptors, u.Refused, how)
}

// besides says how much a server has besides tools; empty: nothing.
func besides(o *plugin.Offers) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("prompts %d, resources %d, resource templates %d", o.Prompts, o.Resources, o.Templates)
}

// signature says how a plugin's file is signed; empty: signatures do not count.
func signature(s plugin.Status) string {
	if s.Signature == nil {
		return ""
	}
	return s.Signature.String()
}

// keptBinaries lists the copies of binaries, the newest first.
func keptBinaries(all []plugin.KeptBinary) string {
	var out []string
	for _, b := range all {
		text := fmt.Sprintf("%s (sha256 %.12s…, served from %s on)",
			output.OrDash(b.Version), b.SHA256, b.Served.Local().Format(time.RFC3339))
		if b.Current {
			text += " serves"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// won returns which plugins want names of this one too.
func (p shownPlugin) won() string {
	of := map[string]int{}
	for _, w := range p.Won {
		of[w.From]++
	}
	var out []string
	for _, from := range slices.Sorted(maps.Keys(of)) {
		out = append(out, fmt.Sprintf("plugin %s wants %d of its names too", from, of[from]))
	}
	return strings.Join(out, "; ")
}

// spare says which process is kept warm; empty: none is.
func spare(s plugin.Status) string {
	if s.Spare == 0 {
		return ""
	}
	return fmt.Sprintf("process %d is warm", s.Spare)
}

// startTime returns how long the latest start took.
func startTime(s plugin.Status) string {
	if s.Took == 0 {
		return "-"
	}
	return output.Milliseconds(time.Duration(s.Took))
}
