package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newPluginsCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List the plugins",
		Long: `List the plugins of all plugin directories, and the files that were skipped. A process
that was replaced or whose file is gone is listed as draining until its calls have ended.

An idle plugin was not started: its tools are known from an earlier run, and its first
call starts it. To start all plugins, set ` + session.CacheVariable + `=` + session.Off + `.

A refused plugin is listed with the reason; that is not a failure of this command.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Use(cmd.Context(), session.Needs{}, func(b session.Backend) error { return listPlugins(s, b) })
		},
	}
	cmd.AddCommand(
		newPluginsShowCommand(s), newPluginsRestartCommand(s), newPluginsRollbackCommand(s), newPluginsLogsCommand(s),
		newPluginsTraceCommand(s), newPluginsEnableCommand(s), newPluginsDisableCommand(s),
	)
	cmd.AddCommand(itself.mark(
		newPluginsLockCommand(s), newPluginsInstallCommand(s), newPluginsUpgradeCommand(s), newPluginsOutdatedCommand(s),
		newPluginsRemoveCommand(s), newPluginsMirrorCommand(s),
	)...)
	return cmd
}

// pluginList is the output of plugins --json.
type pluginList struct {
	Plugins []plugin.Status  `json:"plugins"`
	Skipped []plugin.Skipped `json:"skipped"`
	// Leaving are processes that were replaced or whose file is gone, until their calls end.
	Leaving []plugin.Status `json:"leaving"`
}

func listPlugins(s *session.Session, b session.Backend) error {
	list := pluginList{
		append([]plugin.Status{}, b.Plugins()...), append([]plugin.Skipped{}, b.Skipped()...),
		append([]plugin.Status{}, b.Leaving()...),
	}
	if note := noPluginsNote(b); note != "" {
		s.Err.Printf("%s\n", note)
	}
	if s.Flags.JSON {
		return s.Out.JSON(list)
	}
	if all := slices.Concat(list.Plugins, list.Leaving); len(all) > 0 {
		s.Out.Table(pluginTable(all))
	}
	if len(list.Skipped) > 0 {
		s.Out.Printf("\nskipped:\n")
	}
	for _, f := range list.Skipped {
		s.Out.Printf("  %s: %s\n", sanitize.Line(f.Path, 0), sanitize.Line(f.Reason, 0))
	}
	return nil
}

func pluginTable(plugins []plugin.Status) output.Table {
	t := output.Table{{"NAME", "STATE", "PID", "VERSION", "TOOLS", "START", "REASON"}}
	for _, s := range plugins {
		if s.State == plugin.Draining && s.Calls > 0 {
			s.Reason = fmt.Sprintf("ends when its calls have: %d", s.Calls)
		}
		t.Add(s.Name, string(s.State), output.NumberOrDash(s.PID), output.OrDash(output.FirstLine(s.Version)),
			strconv.Itoa(s.Tools), startTime(s), output.FirstLine(notes(s)))
	}
	return t
}

// notes returns what an operator has to know of a plugin, in one line.
func notes(s plugin.Status) string {
	all := []string{s.Reason}
	if s.Upgrade != "" {
		all = append(all, "not upgraded: "+s.Upgrade)
	}
	if s.RolledBack != "" {
		all = append(all, "rolled back: "+s.RolledBack)
	}
	if s.WantsMore != nil {
		all = append(all, "wants more: "+wantsMore(s))
	}
	if len(s.Changed) > 0 {
		all = append(all, changedTools(s))
	}
	all = append(append(all, s.Held), pluginrun.LostLines(s.Name, s.Lost)...)
	return strings.Join(slices.DeleteFunc(all, func(note string) bool { return note == "" }), "; ")
}
