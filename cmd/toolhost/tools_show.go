package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newToolsShowCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show everything about a tool",
		Example: `  toolhost tools show fs.read
  toolhost tools show --plugin ./hello hello`,
		Args:              oneName("a tool"),
		ValidArgsFunction: completeArgument(s, toolNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Use(cmd.Context(), session.Needs{}, func(b *control.Client) error {
				return showTool(cmd.Context(), s, b, args[0])
			})
		},
	}
	s.Flags.BindPlugin(cmd)
	return cmd
}

func showTool(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	found, ok, err := b.Tool(ctx, name)
	if err != nil {
		return err
	}
	if !ok {
		return unknownTool(ctx, s, b, name)
	}
	t := shown(found)
	t.Exports = notesOf(found.Definition)
	mounted, err := mountedTools(ctx, b, false)
	if err != nil {
		return err
	}
	for _, m := range mounted {
		if m.Name == found.Name {
			t.Replicas = m.Versions
		}
	}
	if s.Flags.JSON {
		return s.Out.JSON(t)
	}
	s.Out.Fields(t.fields())
	s.Out.Printf("\n%s\n", output.Indent(s.Out.Wrapped(sanitize.Text(strings.TrimSpace(t.Description)), 2), "  "))
	printSchema(s.Out, "arguments", t.InputSchema)
	printSchema(s.Out, "structured result", t.OutputSchema)
	printList(s.Out, "not checked, so the tool has to", t.Warnings)
	var lines []string
	for _, n := range t.Exports {
		lines = append(lines, n.lines()...)
	}
	printList(s.Out, "for models", lines)
	if len(t.Replicas) > 0 {
		s.Out.Printf("\non other hosts:\n")
		rows := output.Table{{"  HOSTS", "PLUGIN", "DEFINITION", "USED"}}
		for _, v := range t.Replicas {
			used := "yes"
			if !v.Used {
				used = "no: " + printable(v.Reason)
			}
			rows.Add("  "+printable(strings.Join(v.Hosts, ",")), output.OrDash(printable(strings.TrimSpace(v.Plugin+" "+v.Version))),
				v.Digest[:min(len(v.Digest), 12)], used)
		}
		s.Out.Table(rows)
	}
	return nil
}

// shownTool is a tool as it is printed: with what is in effect, and what the plugin claims.
type shownTool struct {
	host.Tool
	ClaimedName       string      `json:"claimed_name,omitempty"` // if the operator has renamed the tool
	ClaimedSafety     tool.Safety `json:"claimed_safety"`
	ClaimedIdempotent bool        `json:"claimed_idempotent"`
	// ClaimedTimeout is left out if it is in effect.
	ClaimedTimeout tool.Duration `json:"claimed_timeout,omitempty"`
	// Hosts are those of the fleet that calls go to; none: they stay here.
	Hosts []string `json:"hosts,omitempty"`
	// Replicas are the definitions of the name that hosts of the fleet share. Only toolhost tools show
	// has them.
	Replicas []fleet.VersionStatus `json:"replicas,omitempty"`
	// Exports says in which formats models are given something else, and what. Only
	// toolhost tools show has it.
	Exports []noted `json:"exports,omitempty"`
}

func shown(t host.Tool) shownTool {
	t.Safety = t.Safety.Effective()
	t.Title = cmp.Or(t.Title, t.Name)
	s := shownTool{Tool: t, ClaimedSafety: t.Claimed.Safety, ClaimedIdempotent: t.Claimed.Idempotent}
	if t.Claimed.Name != t.Name {
		s.ClaimedName = t.Claimed.Name
	}
	if t.Claimed.Timeout != t.Timeout {
		s.ClaimedTimeout = t.Claimed.Timeout
	}
	return s
}

func printList(out *output.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	out.Printf("\n%s:\n", title)
	for _, line := range lines {
		out.Printf("  %s\n", sanitize.Text(line))
	}
}

func printSchema(out *output.Writer, title string, schema tool.Schema) {
	if len(schema) > 0 {
		out.Printf("\n%s:\n%s\n", title, output.Indent(output.PrettyJSON(schema), "  "))
	}
}

func (t shownTool) fields() []output.Field {
	return []output.Field{
		{Name: "name", Value: t.Name + claimed(t.ClaimedName)},
		{Name: "title", Value: t.Title},
		{Name: "plugin", Value: output.OrDash(t.Owner)},
		{Name: "safety", Value: t.Safety.String() + claimed(output.OrDash(t.ClaimedSafety.String()))},
		{Name: "approval", Value: string(t.Approval)},
		{Name: "permission", Value: output.OrDash(string(t.Permission))},
		{Name: "categories", Value: strings.Join(t.Categories, ", ")},
		{Name: "idempotent", Value: fmt.Sprint(t.Idempotent) + claimed(fmt.Sprint(t.ClaimedIdempotent))},
		{Name: "retries", Value: fmt.Sprintf("at most %d", t.MaxRetries)},
		{Name: "timeout", Value: t.timeout()},
		{Name: "rate limit", Value: t.rateLimit()},
		{Name: "sensitive", Value: strings.Join(t.Sensitive, ", ")},
	}
}

// claimed returns what a plugin claims, to follow what is in effect; empty if it claims nothing.
func claimed(value string) string {
	if value == "" {
		return ""
	}
	return " (claimed: " + value + ")"
}

func (t shownTool) timeout() string {
	if t.Timeout == 0 {
		return "the host's default"
	}
	if t.ClaimedTimeout != 0 {
		return time.Duration(t.Timeout).String() + claimed(time.Duration(t.ClaimedTimeout).String())
	}
	return time.Duration(t.Timeout).String()
}

func (t shownTool) rateLimit() string {
	if t.RateLimit == nil {
		return ""
	}
	return fmt.Sprintf("%d calls in %v", t.RateLimit.Calls, time.Duration(t.RateLimit.Period))
}
