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
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutFleet = `Show the hosts of the daemon's fleet: other hosts that meet on the same NATS server, whose
tools the daemon mounts, and with which it shares its own, as nats in the configuration says.

STATE is ready, draining (it ends its calls and takes no new ones), late (nothing was heard of
it for longer than usual) or refused, with the reason. TOOLS is how many it shares with this host,
LOAD its calls in progress, and those it may have, and LATENCY what a call of this host is
expected to take there: the median of its tools. Below are the tools that were called, at each
host: SHARE of the last 100 calls, how long one is EXPECTED to take, and whether the host is
EJECTED, so that calls go elsewhere. --json has the versions of tools, too. --on HOST shows the
fleet as that host sees it, if it has this one's key, or this one as a peer with admin.

Hosts know each other by their keys: toolhost fleet key prints that of this host. Those with
the same key trust each other; others are named under nats.peers.`

func newFleetCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show and drain the hosts of the daemon's fleet", Long: aboutFleet,
		Example: `  toolhost serve --nats nats://127.0.0.1:4222 --name laptop
  toolhost fleet
  toolhost fleet --on build-1 --json`,
		Args: noArguments,
	}
	var on string
	cmd.Flags().StringVar(&on, "on", "", "show the fleet as this `HOST` sees it")
	_ = cmd.RegisterFlagCompletionFunc("on", completeHosts(s))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return showFleet(cmd.Context(), s, on) }
	var wait, off bool
	var timeout time.Duration
	drain := &cobra.Command{
		Use: "drain HOST", Short: "Have a host take no new calls of other hosts, or take them again",
		Long: `Have a host take no new calls of other hosts, and end those in progress. The exit status is 0
when the host has said so, and with --wait when its calls of other hosts have ended, after which it can
be stopped; if --timeout is over before, the status is 7, and the error says how many are left.
Interrupting the command ends only the wait. With --off it takes calls again. The host has to know
this one by its own key, or as a peer with admin. This host can be drained too.`,
		Example: `  toolhost fleet drain build-1 --wait
  toolhost fleet drain build-1 --timeout 5m
  toolhost fleet drain build-1 --off`,
		Args: oneName("a host"), ValidArgsFunction: completeHosts(s),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &daemonv1.DrainHostRequest{Name: args[0], Resume: off, Wait: wait || timeout > 0}
			if timeout > 0 {
				r.TimeoutMs = max(timeout.Milliseconds(), 1)
			}
			if timeout < 0 {
				return exit.Usage(fmt.Sprintf("--timeout %v is below zero", timeout), "give a time such as 30s")
			}
			return drainHost(cmd.Context(), s, r)
		},
	}
	drain.Flags().BoolVar(&wait, "wait", false, "wait until the calls in progress there have ended")
	drain.Flags().BoolVar(&off, "off", false, "have it take calls again")
	drain.Flags().DurationVar(&timeout, "timeout", 0, "wait for this `DURATION` at most, such as 5m")
	drain.MarkFlagsMutuallyExclusive("wait", "off")
	drain.MarkFlagsMutuallyExclusive("timeout", "off")
	cmd.AddCommand(drain, newFleetKeyCommand(s))
	return cmd
}

func newFleetKeyCommand(s *session.Session) *cobra.Command {
	var next, use bool
	cmd := &cobra.Command{
		Use: "key", Short: "Print the key by which other hosts know this one", Example: "  toolhost fleet key",
		Long: `Print the public half of this host's key, which others write under nats.peers.NAME.key, and make
the key if there is none. The secret half is in fleet.key in your state directory, or in the
file that nats.key names. It needs no daemon.

To have another key, make the next one with --next. The peers, and the NATS server, add it under
nats.peers.NAME.keys, and reload. --use then makes it the host's key, from the
next start on, and keeps the old one in a file whose name ends in .old. At last the peers remove the
old one. Durable calls belong to the key that submitted them: let them end before.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := s.Configure(true); err != nil {
				return err
			}
			key, err := session.FleetKey(s.Settings().Config.NATS)
			if err == nil && (next || use) {
				key, err = session.NextFleetKey(s.Settings().Config.NATS, use)
			}
			if err != nil {
				return err
			}
			return s.Answer(map[string]any{"key": key.Public()}, "%s\n", key.Public())
		},
	}
	cmd.Flags().BoolVar(&next, "next", false, "print the key that the host is to have next, and make it")
	cmd.Flags().BoolVar(&use, "use", false, "make the next key the host's own, from the next start on")
	return cmd
}

// fleetError returns an error with the exit status of a command that no tool is involved in.
func fleetError(err error) error {
	return exit.As(exit.BadUsage, err, tool.CodeNotFound, tool.CodeUnsupported)
}

func showFleet(ctx context.Context, s *session.Session, on string) error {
	c, err := dialDaemon(ctx, s, false)
	if err != nil {
		return err
	}
	v, err := c.FleetView(ctx, on)
	if err != nil {
		return fleetError(err)
	}
	err = printed[fleet.HostStatus]{all: v.Hosts, json: v, columns: "HOST|STATE|VERSION|LABELS|TOOLS|LOAD|LATENCY|HEARD", row: hostRow}.print(s)
	if s.Flags.JSON {
		return err
	}
	for _, h := range v.Hosts {
		if h.Reason != "" {
			s.Out.Printf("%s: %s\n", printable(h.Name), printable(h.Reason))
		}
	}
	if len(v.Replicas) > 0 {
		s.Out.Printf("\n")
		err = printed[fleet.ReplicaStatus]{all: v.Replicas, columns: "TOOL|HOST|SHARE|EXPECTED|RUNNING|CALLS|FAILED|EJECTED", row: replicaRow}.print(s)
		for _, r := range v.Replicas {
			if r.Reason != "" {
				s.Out.Printf("%s on %s: %s\n", printable(r.Tool), printable(r.Host), printable(r.Reason))
			}
		}
	}
	for _, t := range v.Tools {
		if t.Waiting > 0 {
			s.Out.Printf("%s: %d waiting for a host, the first for %v\n", printable(t.Name), t.Waiting, t.Oldest.Round(100*time.Millisecond))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Queue.Tools)) {
		s.Out.Printf("%s: %d waiting for a worker\n", printable(name), v.Queue.Tools[name])
	}
	if text := queueText(&v.Queue); v.Queue.Open || v.Queue.Reason != "" {
		s.Out.Printf("%s\n", printable(strings.TrimPrefix(text, ", ")))
	}
	return err
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
		printable(name), printable(string(h.State)), output.OrDash(printable(h.Version)), output.OrDash(printable(strings.Join(labels, ","))),
		strconv.Itoa(h.Tools), load, latency, heard,
	}
}

func replicaRow(r fleet.ReplicaStatus) []string {
	failed, ejected := strconv.FormatInt(r.Failed, 10), "-"
	if r.Failures > 0 {
		failed += fmt.Sprintf(" (%d in a row)", r.Failures)
	}
	if r.Ejected > 0 {
		ejected = "for " + r.Ejected.Round(100*time.Millisecond).String()
	}
	return []string{
		printable(r.Tool), printable(r.Host), fmt.Sprintf("%.0f %%", 100*r.Share), r.Expected.Round(10 * time.Microsecond).String(),
		strconv.Itoa(r.Running), strconv.FormatInt(r.Calls, 10), failed, ejected,
	}
}

func drainHost(ctx context.Context, s *session.Session, r *daemonv1.DrainHostRequest) error {
	c, err := dialDaemon(ctx, s, false)
	if err != nil {
		return err
	}
	name, on := r.GetName(), !r.GetResume()
	if name == "" { // it would stand for the daemon's own
		return tool.Errorf(tool.CodeInvalidArguments, "the host has no name")
	}
	if _, err := control.Do(ctx, c, daemonv1.DaemonHandler.DrainHost, r); err != nil {
		return fleetError(err)
	}
	text := "takes calls of other hosts again"
	switch {
	case r.GetWait():
		text = "is drained: its calls of other hosts have ended"
	case on:
		text = "drains: it takes no new calls of other hosts"
	}
	return s.Answer(map[string]any{"host": name, "draining": on}, "%s %s\n", printable(name), text)
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

// completeHosts completes the names of hosts.
func completeHosts(s *session.Session) cobra.CompletionFunc {
	return completeByCallers(s, false, func(ctx context.Context, c *control.Client) (out []string) {
		all, _ := c.FleetHosts(ctx)
		for _, h := range all {
			out = append(out, printable(h.Name)+"\t"+string(h.State))
		}
		return out
	})
}
