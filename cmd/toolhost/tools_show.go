package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (a *app) toolsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Show everything about one tool",
		Args:              oneName("tool"),
		ValidArgsFunction: a.completeArgument(toolNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), needs{}, func(h *opened) error { return a.showTool(cmd.Context(), h, args[0]) })
		},
	}
}

func (a *app) showTool(ctx context.Context, h *opened, name string) error {
	t, ok, err := h.find(ctx, name)
	if err != nil {
		return err
	}
	if !ok {
		return h.unknownTool(ctx, name)
	}
	s := show(t)
	if a.json {
		return a.out.json(s)
	}
	a.out.fields(s.fields())
	a.out.printf("\n%s\n", indent(sanitize.Text(strings.TrimSpace(s.Description)), "  "))
	a.out.schema("arguments", s.InputSchema)
	a.out.schema("structured result", s.OutputSchema)
	return nil
}

// unknownTool is the error for a name that is not there: the plugin's, where it
// did not load.
func (h *opened) unknownTool(ctx context.Context, name string) error {
	if fault := h.blame(name); fault != nil {
		return fault
	}
	all, err := h.list(ctx, host.Filter{})
	if err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	hint := "see toolhost tools for the names"
	if near := suggest.Nearest(name, names, 3); len(near) > 0 {
		hint = didYouMean(near)
	} else if len(names) == 0 {
		hint = "no tools are loaded: see toolhost plugins"
	}
	return &tool.Error{Code: tool.CodeNotFound, Tool: name, Message: "Unknown tool: " + shorten(sanitize.Text(name), tool.MaxNameLength), Hint: hint}
}

// field is a line of a description; empty ones are not shown.
type field struct{ name, value string }

func (o *output) fields(all []field) {
	for _, f := range all {
		if f.value != "" {
			o.printf("%-14s %s\n", f.name+":", firstLine(f.value))
		}
	}
}

func (s shownTool) fields() []field {
	return []field{
		{"name", s.Name + claim(s.ClaimedName)},
		{"title", s.Title},
		{"plugin", orDash(s.Owner)},
		{"safety", s.Safety.String() + claim(orDash(s.ClaimedSafety.String()))},
		{"approval", string(s.Approval)},
		{"permission", orDash(string(s.Permission))},
		{"categories", strings.Join(s.Categories, ", ")},
		{"idempotent", fmt.Sprint(s.Idempotent) + claim(fmt.Sprint(s.ClaimedIdempotent))},
		{"retries", fmt.Sprintf("at most %d", s.MaxRetries)},
		{"timeout", s.timeout()},
		{"rate limit", s.rateLimit()},
		{"sensitive", strings.Join(s.Sensitive, ", ")},
	}
}

// claim is what a plugin says, behind what the host goes by; empty: it says nothing.
func claim(said string) string {
	if said == "" {
		return ""
	}
	return " (claimed: " + said + ")"
}

func (s shownTool) timeout() string {
	if s.Timeout == 0 {
		return "the host's default"
	}
	if s.ClaimedTimeout != 0 {
		return time.Duration(s.Timeout).String() + claim(time.Duration(s.ClaimedTimeout).String())
	}
	return time.Duration(s.Timeout).String()
}

func (s shownTool) rateLimit() string {
	if s.RateLimit == nil {
		return ""
	}
	return fmt.Sprintf("%d calls in %v", s.RateLimit.Calls, time.Duration(s.RateLimit.Period))
}

func (o *output) schema(title string, schema tool.Schema) {
	if len(schema) == 0 {
		return
	}
	o.printf("\n%s:\n%s\n", title, indent(prettyJSON(schema), "  "))
}
