package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// unknownTool returns the error for a tool that does not exist: what the configuration says of
// it, or the plugin's fault, if that did not load.
func unknownTool(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	if why := whyMissing(ctx, s, b, name); why != nil {
		return why
	}
	all, err := b.Tools(ctx, host.Filter{})
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	hint := "see toolhost tools for the names"
	if near := suggest.Nearest(name, names, 3); len(near) > 0 {
		hint = output.DidYouMean(near)
	} else if fault := absentPlugin(b, name); fault != nil {
		return fault
	} else if slices.ContainsFunc(b.State().Plugins, func(p plugin.Status) bool { return p.State == plugin.Disabled }) {
		hint = "see toolhost tools for the names, and toolhost plugins for plugins that are disabled"
	} else if len(names) == 0 {
		hint = "no tools are loaded: see toolhost plugins, and in a fleet toolhost fleet"
	}
	return tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", output.Shorten(sanitize.Text(name), ident.MaxTool)).
		Of(name, "").Try(hint)
}

// whyMissing returns why a tool is not there under its name; nil if that is not known.
func whyMissing(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	if err := overridden(ctx, s, b, name); err != nil {
		return err
	}
	if err := faultOf(b, name); err != nil {
		return err
	}
	return disabled(b, name)
}

// disabled returns the error for a tool whose name begins with that of a disabled plugin; nil if
// there is none.
func disabled(b *control.Client, name string) error {
	prefix, _, _ := strings.Cut(name, ".")
	if p, ok := session.Status(b.State().Plugins, prefix); !ok || p.State != plugin.Disabled {
		return nil
	}
	return tool.Errorf(tool.CodeNotFound, "Unknown tool: %s: the plugin %s is disabled", name, prefix).
		Of(name, prefix).Fix("toolhost plugins enable " + prefix)
}

// overridden returns the error for a tool that the configuration disables or renames; nil if it
// does neither.
func overridden(ctx context.Context, s *session.Session, b *control.Client, name string) error {
	t := s.Settings()
	o, ok := t.Config.Tools[name]
	out := &tool.Error{Code: tool.CodeNotFound, Tool: name}
	switch file := sanitize.Text(t.Config.File); {
	case ok && o.Disabled:
		out.Message = fmt.Sprintf("Unknown tool: %s: the operator has disabled it in %s", name, file)
		out.OperatorHint = fmt.Sprintf("remove disable from tools: %q there to have it again", name)
	case ok && o.Name != "" && o.Name != name:
		if _, found, err := b.Tool(ctx, o.Name); err != nil || !found {
			return nil //nolint:nilerr // the name that was asked for is unknown in any case
		}
		out.Message = fmt.Sprintf("Unknown tool: %s: it is called %s here, as %s says", name, o.Name, file)
		out.OperatorHint = "see toolhost tools show " + o.Name
	default:
		return nil
	}
	return out
}

// faultOf returns why a tool is missing: the tool was refused, or a plugin that its name
// begins with did not load. Nil if no fault is known.
func faultOf(b *control.Client, name string) error {
	prefix, _, _ := strings.Cut(name, ".")
	for _, fault := range b.State().Faults {
		if fault.Tool == name || fault.Tool == "" && fault.Plugin != "" && fault.Plugin == prefix {
			out := *fault
			out.Code, out.Tool, out.Err = tool.CodeUnavailable, name, fault
			out.Message = fmt.Sprintf("tool %s is not available: %s", name, output.Message(fault))
			return exit.With(exit.Unavailable, &out)
		}
	}
	return nil
}

// absentPlugin returns the error for a tool that may be one of a plugin that is not available,
// as its tools are not known; nil: there is none.
func absentPlugin(b *control.Client, name string) error {
	for _, p := range b.State().Plugins {
		if p.Tools == 0 && slices.Contains([]plugin.State{plugin.Refused, plugin.Backoff, plugin.Quarantined}, p.State) {
			return exit.With(exit.Unavailable, tool.Errorf(tool.CodeUnavailable,
				"Unknown tool: %s (unless it is one of a plugin that is not available: %s)",
				output.Shorten(sanitize.Text(name), ident.MaxTool), output.FirstLine(p.Reason)).Of(name, p.Name).
				Because(tool.ErrNotFound).Fix(pluginrun.TryAgainHint(p.Name)))
		}
	}
	return nil
}

// unknownPlugin returns the error for a plugin that does not exist, which is one of usage: the
// name is a word of the command line.
func unknownPlugin(b *control.Client, name string) error {
	var names []string
	for _, s := range b.State().Plugins {
		names = append(names, s.Name)
	}
	hint := output.Suggest(name, names, "see toolhost plugins for the names")
	message := "there is no plugin " + output.Shorten(sanitize.Text(name), 64)
	for _, s := range b.State().Skipped {
		if filepath.Base(s.Path) == name {
			message += fmt.Sprintf(" (%s was skipped: %s)", sanitize.Line(s.Path, 0), sanitize.Line(s.Reason, 0))
		}
	}
	return exit.Usage(message, hint)
}

// shippedPlugins is what has the plugins that ship with the command.
const shippedPlugins = "a release (or go install github.com/toolhost/toolhost/plugins/...@latest, with GOBIN set to one of these directories)"

// noPluginsNote explains an empty list; it is empty if there are plugins.
func noPluginsNote(b *control.Client) string {
	if len(b.State().Plugins) > 0 || len(b.State().Faults) > 0 {
		return ""
	}
	note := fmt.Sprintf("no plugins in %s: install one with toolhost plugins install REF, "+
		"copy a binary there, or write one with toolhost dev new; "+
		"%s has those that ship with toolhost", strings.Join(b.Dirs, " and "), shippedPlugins)
	if n := len(b.State().Skipped); n > 0 {
		note += fmt.Sprintf(" (skipped there: %d, see toolhost plugins)", n)
	}
	return note
}
