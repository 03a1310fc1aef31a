package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (a *app) pluginsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Show everything about one plugin, and why it cannot be used",
		Args:              oneName("plugin"),
		ValidArgsFunction: a.completeArgument(pluginNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), needs{}, func(h *opened) error { return a.showPlugin(cmd.Context(), h, args[0]) })
		},
	}
}

// shownPlugin is a plugin with its tools and what is wrong with it.
type shownPlugin struct {
	plugin.Status
	ToolNames []string `json:"tool_names"`
	Faults    []fault  `json:"faults"`
}

// fault is an error with the evidence, which is for operators.
type fault struct {
	Code    tool.Code `json:"code"`
	Tool    string    `json:"tool,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

func (a *app) showPlugin(ctx context.Context, h *opened, name string) error {
	status, ok := statusOf(h.Plugins(), name)
	if !ok {
		return h.unknownPlugin(name)
	}
	names, err := h.toolsOf(ctx, name)
	if err != nil {
		return err
	}
	s := shownPlugin{Status: status, ToolNames: names, Faults: []fault{}}
	for _, e := range h.faulty() {
		if e.Plugin == name {
			s.Faults = append(s.Faults, fault{e.Code, e.Tool, message(e, e), e.Hint, e.Detail})
		}
	}
	if a.json {
		return a.out.json(s)
	}
	a.out.fields(s.fields())
	for _, f := range s.Faults {
		a.out.printf("\n%s: %s\n", f.Code, sanitize.Text(f.Message))
		if f.Hint != "" {
			a.out.printf("  %s\n", sanitize.Text(f.Hint))
		}
		a.out.lastWords(f.Detail)
	}
	return nil
}

// unknownPlugin is no unknown tool: the name is a word of the command line.
func (h *opened) unknownPlugin(name string) error {
	var names []string
	for _, s := range h.Plugins() {
		names = append(names, s.Name)
	}
	hint := "see toolhost plugins for the names"
	if near := suggest.Nearest(name, names, 3); len(near) > 0 {
		hint = didYouMean(near)
	}
	message := "there is no plugin " + shorten(sanitize.Text(name), 64)
	for _, s := range h.Skipped() {
		if filepath.Base(s.Path) == name {
			message += fmt.Sprintf(" (%s was skipped: %s)", sanitize.Line(s.Path, 0), sanitize.Line(s.Reason, 0))
		}
	}
	return usage(message, hint)
}

func (s shownPlugin) fields() []field {
	since := ""
	if !s.Since.IsZero() {
		since = s.Since.Format(time.RFC3339)
	}
	fault := ""
	if s.LastFault != nil {
		fault = s.LastFault.Time.Format(time.RFC3339) + " " + s.LastFault.Text
	}
	return []field{
		{"name", s.Name},
		{"path", s.Path},
		{"state", string(s.State)},
		{"reason", s.Reason},
		{"upgrade", s.Upgrade},
		{"held", s.Held},
		{"last fault", fault},
		{"output", s.Output},
		{"pid", numberOrDash(s.PID)},
		{"carrier", orDash(string(s.Carrier))},
		{"version", orDash(s.Version)},
		{"sdk", orDash(s.SDK)},
		{"start took", startTime(s.Status)},
		{"ready since", since},
		{"starts", strconv.Itoa(s.Starts)},
		{"calls", strconv.Itoa(s.Calls)},
		{"tools", orDash(strings.Join(s.ToolNames, ", "))},
	}
}
