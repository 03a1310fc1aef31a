package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutFleet = `Show the hosts of the daemon's fleet: other hosts that meet on the same NATS server, whose
tools the daemon mounts, and with which it shares its own, as nats in the configuration or
toolhost serve --nats, --share and --mount say.

STATE is ready, draining (it ends its calls and takes no new ones), late (nothing was heard of
it for longer than usual) or refused, for which the reason is told. TOOLS is how many it
shares with this host, LOAD its calls in progress, and those it may have, and LATENCY what
calls of this host took there, on average.

Hosts know each other by their keys: toolhost fleet key prints that of this host. Those with
the same key trust each other; others are named under nats.peers.`

func newFleetCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show and drain the hosts of the daemon's fleet", Long: aboutFleet,
		Example: `  toolhost serve --nats embedded --share 'gpu.*'
  toolhost serve --nats nats://127.0.0.1:4222 --name laptop --mount 'gpu.*'
  toolhost fleet`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listHosts(cmd.Context(), s) },
	}
	var wait bool
	drain := func(use, short, long string, on bool) *cobra.Command {
		return &cobra.Command{
			Use: use + " HOST", Short: short, Long: long, Args: oneName("a host"), ValidArgsFunction: completeHosts(s),
			RunE: func(cmd *cobra.Command, args []string) error { return drainHost(cmd.Context(), s, args[0], on, wait) },
		}
	}
	drainCommand := drain("drain", "Have a host take no new calls of other hosts", `Have a host take no new calls of other hosts, and end those in progress. The exit status is 0
when the host has said so, and with --wait when its calls of other hosts have ended, after which it can
be stopped. To interrupt the command ends only the wait. The host has to know this one by its own
key, or as a peer with admin. This host can be drained too.`, true)
	drainCommand.Flags().BoolVar(&wait, "wait", false, "wait until the calls in progress there have ended")
	cmd.AddCommand(
		&cobra.Command{
			Use: "tools", Short: "Show the tools of other hosts, and which of them is used",
			Long: `Show the tools that other hosts share and this one mounts: each definition of a name, the
plugin and version it comes with, its hosts, and whether calls go to it, or why not.`,
			Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return listFleetTools(cmd.Context(), s) },
		},
		drainCommand,
		drain("resume", "Have a host that was drained take calls again", "Have a host that was drained take calls of other hosts again.", false),
		newFleetKeyCommand(s), newFleetCallCommand(s),
	)
	return cmd
}

func newFleetKeyCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "key", Short: "Print the key by which other hosts know this one",
		Long: `Print the public half of this host's key, which others write under nats.peers.NAME.key, and make
the key if there is none. The secret half is in fleet.key in your state directory, or in the
file that nats.key names. It needs no daemon.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := s.Configure(true); err != nil {
				return err
			}
			key, err := session.FleetKey(s.Settings().Config.NATS)
			if err != nil {
				return err
			}
			if s.Flags.JSON {
				return s.Out.JSON(map[string]any{"key": key.Public()})
			}
			s.Out.Printf("%s\n", key.Public())
			return nil
		},
	}
}

func newFleetCallCommand(s *session.Session) *cobra.Command {
	c := callCommand{s: s}
	cmd := &cobra.Command{
		Use:   "call --on HOST NAME [JSON | @FILE | -]",
		Short: "Call a tool on one host",
		Long: `Call a tool on one host of the daemon's fleet, and print its result, as toolhost call does. If
that host does not share the tool, or cannot take the call, the call fails.`,
		Example:           `  toolhost call --on build-1 gpu.render --arg scene=a.blend`,
		Args:              callArguments,
		ValidArgsFunction: completeArgument(s, toolNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.on == "" {
				return exit.Usage("toolhost fleet call needs the name of a host", "give it with --on, see toolhost fleet; toolhost call chooses one")
			}
			if err := s.Configure(true); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0], args[1:])
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&c.on, "on", "", "the `HOST` that is to run the call")
	_ = cmd.RegisterFlagCompletionFunc("on", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return hostNames(cmd.Context(), s), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// fleetError returns an error with the exit status of a command that no tool is involved in.
func fleetError(err error) error {
	switch tool.CodeOf(err) {
	case tool.CodeNotFound, tool.CodeUnsupported:
		return exit.With(exit.BadUsage, err)
	}
	return err
}

func listHosts(ctx context.Context, s *session.Session) error {
	c, err := dialDaemon(ctx, s)
	if err != nil {
		return err
	}
	all, err := c.FleetHosts(ctx)
	if err != nil {
		return fleetError(err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(all)
	}
	rows := output.Table{{"HOST", "STATE", "VERSION", "LABELS", "TOOLS", "LOAD", "LATENCY", "HEARD"}}
	for _, h := range all {
		rows.Add(hostRow(h)...)
	}
	s.Out.Table(rows)
	for _, h := range all {
		if h.Reason != "" {
			s.Out.Printf("%s: %s\n", printable(h.Name), printable(h.Reason))
		}
	}
	return nil
}

func hostRow(h fleet.HostStatus) []string {
	name := h.Name
	if h.Peer != "" && h.Peer != h.Name {
		name += " (" + h.Peer + ")"
	}
	heard := h.Heard.Round(100 * time.Millisecond).String()
	if h.Self {
		name, heard = name+" (this)", "-"
	}
	load := strconv.Itoa(h.Running)
	if h.Slots > 0 {
		load += "/" + strconv.Itoa(h.Slots)
	}
	if h.Waiting > 0 {
		load += fmt.Sprintf(" (%d wait)", h.Waiting)
	}
	latency := "-"
	if h.Latency > 0 {
		latency = h.Latency.Round(10 * time.Microsecond).String()
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
		labels = append(labels, k+"="+h.Labels[k])
	}
	return []string{
		printable(name), string(h.State), output.OrDash(printable(h.Version)), output.OrDash(printable(strings.Join(labels, ","))),
		strconv.Itoa(h.Tools), load, latency, heard,
	}
}

func listFleetTools(ctx context.Context, s *session.Session) error {
	c, err := dialDaemon(ctx, s)
	if err != nil {
		return err
	}
	all, err := c.FleetTools(ctx)
	if err != nil {
		return fleetError(err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(all)
	}
	if len(all) == 0 {
		s.Err.Printf("no tools: see nats.mount in the configuration, and what other hosts share\n")
		return nil
	}
	rows := output.Table{{"TOOL", "DEFINITION", "PLUGIN", "HOSTS", "USED"}}
	for _, t := range all {
		for _, v := range t.Versions {
			used := "yes"
			if !v.Used {
				used = "no: " + printable(v.Reason)
			}
			rows.Add(printable(t.Name), v.Digest[:min(len(v.Digest), 12)], output.OrDash(printable(strings.TrimSpace(v.Plugin+" "+v.Version))),
				printable(strings.Join(v.Hosts, ",")), used)
		}
	}
	s.Out.Table(rows)
	return nil
}

func drainHost(ctx context.Context, s *session.Session, name string, on, wait bool) error {
	c, err := dialDaemon(ctx, s)
	if err != nil {
		return err
	}
	if err := c.DrainHost(ctx, name, on, wait); err != nil {
		return fleetError(err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(map[string]any{"host": name, "draining": on})
	}
	switch {
	case wait:
		s.Out.Printf("%s is drained: its calls of other hosts have ended\n", sanitize.Line(name, 0))
		return nil
	case on:
		s.Out.Printf("%s drains: it takes no new calls of other hosts\n", sanitize.Line(name, 0))
		return nil
	}
	s.Out.Printf("%s takes calls of other hosts again\n", sanitize.Line(name, 0))
	return nil
}

// fleetText returns the line of the status about a fleet; empty: there is none.
func fleetText(f *control.FleetState) string {
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("%s on %s: %s, %s", f.Name, f.Server, f.State, plural(f.Hosts, "other host"))
	if f.Refused > 0 {
		text += fmt.Sprintf(" (%d refused)", f.Refused)
	}
	return text + fmt.Sprintf(", %s mounted", plural(f.Tools, "tool")) + queueText(f.Queue)
}

func hostNames(ctx context.Context, s *session.Session) (out []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	c, err := dialDaemon(ctx, s)
	if err != nil { // errors are not shown in completions
		return nil
	}
	all, _ := c.FleetHosts(ctx)
	for _, h := range all {
		out = append(out, printable(h.Name)+"\t"+string(h.State))
	}
	return out
}

// completeHosts completes the names of hosts.
func completeHosts(s *session.Session) cobra.CompletionFunc {
	return oneOf(func(ctx context.Context) []string { return hostNames(ctx, s) })
}
