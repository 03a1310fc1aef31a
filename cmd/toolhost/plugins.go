package main

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func (a *app) pluginsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List the plugins",
		Long: `List the plugins of all plugin directories, and what was skipped.

A plugin that is idle was not started: what it serves is known from an earlier run,
and its first call starts it. To start all, set ` + cacheVariable + `=` + noCache + `.

A plugin that is refused is in the list, with the reason; that is no failure of
this command.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHost(cmd.Context(), needs{}, a.listPlugins)
		},
	}
	cmd.AddCommand(a.pluginsShowCommand(), a.pluginsRestartCommand(), a.pluginsLockCommand(), a.pluginsEnableCommand(), a.pluginsDisableCommand())
	return cmd
}

// pluginList is what plugins --json prints.
type pluginList struct {
	Plugins []plugin.Status `json:"plugins"`
	Skipped []skipped       `json:"skipped"`
}

type skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (a *app) listPlugins(h *opened) error {
	list := pluginList{Plugins: append([]plugin.Status{}, h.Plugins()...), Skipped: []skipped{}}
	for _, s := range h.Skipped() {
		list.Skipped = append(list.Skipped, skipped(s))
	}
	if note := h.emptyNote(); note != "" {
		a.err.printf("%s\n", note)
	}
	if a.json {
		return a.out.json(list)
	}
	if len(list.Plugins) > 0 {
		a.out.table(pluginTable(list.Plugins))
	}
	if len(list.Skipped) > 0 {
		a.out.printf("\nskipped:\n")
	}
	for _, s := range list.Skipped {
		a.out.printf("  %s: %s\n", sanitize.Line(s.Path, 0), sanitize.Line(s.Reason, 0))
	}
	return nil
}

func pluginTable(plugins []plugin.Status) table {
	t := table{{"NAME", "STATE", "PID", "VERSION", "TOOLS", "START", "REASON"}}
	for _, s := range plugins {
		t.add(s.Name, string(s.State), numberOrDash(s.PID), orDash(firstLine(s.Version)), strconv.Itoa(s.Tools), startTime(s), firstLine(cmp.Or(s.Reason, s.Held)))
	}
	return t
}

func numberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// startTime is how long the newest start took.
func startTime(s plugin.Status) string {
	if s.Took == 0 {
		return "-"
	}
	return milliseconds(time.Duration(s.Took))
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}
