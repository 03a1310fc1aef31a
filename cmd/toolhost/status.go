package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/doctor"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutStatus = `Show how the daemon is, for people and monitors. The exit status is 0 if it is well, 1 if
something is wrong with it or needs you, and 6 if there is none or it does not answer.

What is wrong is listed: plugins that are degraded, refused, in backoff or quarantined,
upgrades that failed, what waits for you, callers that are refused for too many calls, a
configuration that could not be reloaded, and, if the command has the daemon's settings, what
doctor finds of its files. A plugin that you disabled is not wrong.

A daemon that starts is not well until it is ready; what has not started yet is named. The
daemon is the one on the socket (--socket), whatever its root. --wait waits for one to be ready.`

func newStatusCommand(s *session.Session) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Example: "  toolhost status --json\n  toolhost status --wait 10s",
		Use:     "status",
		Short:   "Show whether the daemon is well",
		Long:    aboutStatus,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showStatus(cmd.Context(), s, wait) },
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this `DURATION` for a daemon to be ready")
	return cmd
}

// daemonStatus is the output of status --json.
type daemonStatus struct {
	Healthy bool `json:"healthy"`
	// Problems say what is wrong, a line each; Warnings what will be, or is weak.
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings,omitempty"`
	control.State
}

// waitPace is how often a daemon is looked for: a socket that does not exist has no events.
const waitPace = 50 * time.Millisecond

// awaitDaemon connects to the daemon, and waits so long for it to be ready.
func awaitDaemon(ctx context.Context, s *session.Session, wait time.Duration) (*control.Client, error) {
	tick, over := time.NewTicker(waitPace), time.After(wait)
	defer tick.Stop()
	for {
		c, err := dialDaemon(ctx, s, false)
		if err == nil && !c.State().Starting || wait <= 0 || tool.CodeOf(err) == tool.CodePermissionDenied {
			return c, err
		}
		select {
		case <-tick.C:
		case <-over:
			if err != nil {
				err = fmt.Errorf("after %v: %w", wait, err)
			}
			return c, err
		case <-ctx.Done():
			return c, err
		}
	}
}

func showStatus(ctx context.Context, s *session.Session, wait time.Duration) error {
	c, err := awaitDaemon(ctx, s, wait)
	if err != nil {
		return exit.With(exit.Unavailable, err)
	}
	state := c.State()
	out := daemonStatus{Problems: problemsOf(state), State: state}
	for _, f := range doctor.OfDaemon(ctx, s, state) {
		text := sanitize.Line(f.Check+": "+f.Message, 0)
		switch f.Result {
		case doctor.Failed:
			out.Problems = append(out.Problems, text)
		case doctor.Warning:
			out.Warnings = append(out.Warnings, text)
		}
	}
	out.Healthy = len(out.Problems) == 0
	if !out.Healthy {
		err = exit.With(exit.Failed, fmt.Errorf("the daemon (pid %d) is %s", state.PID, out.health()))
	}
	if s.Flags.JSON {
		return s.Out.Report(out, err)
	}
	out.print(s.Out)
	return err
}

// problemsOf returns what is wrong with a daemon.
func problemsOf(d control.State) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, sanitize.Line(fmt.Sprintf(format, args...), 0)) }
	if d.Starting {
		add("%s", startingText(d))
	}
	if d.Draining {
		add("it is ending, and takes no more calls")
	}
	if f := d.Fleet; f != nil && !f.Reached() {
		add("the fleet on %s is not reached: %s", f.Server, f.Reason)
	}
	if f := d.Fleet; f != nil && f.Reached() && f.Queue != nil && !f.Queue.Open {
		add("tools whose rule is durable cannot be called: %s", f.Queue.Reason)
	}
	if f := d.Fleet; f != nil && f.Queue != nil {
		for _, text := range f.Queue.Differs {
			add("durable calls: %s", text)
		}
	}
	for _, r := range d.Refused {
		add("the caller %s is refused: %d times, the last at %s: %s", r.Caller, r.Calls, r.Last.Format(time.TimeOnly), r.Reason)
	}
	if n := d.Approvals; n > 0 {
		add("questions wait for your answer: %d, see toolhost approvals", n)
	}
	told := map[string]bool{}
	for _, p := range d.Plugins {
		switch p.State {
		case plugin.Degraded, plugin.Backoff, plugin.Quarantined, plugin.Refused:
			told[p.Name] = true
			add("plugin %s is %s: %s", p.Name, p.State, p.Reason)
		}
		if p.Upgrade != "" {
			add("plugin %s was not upgraded: %s", p.Name, p.Upgrade)
		}
		if p.Held != "" && p.State != plugin.Refused {
			add("plugin %s: %s", p.Name, p.Held)
		}
		if p.WantsMore != nil {
			add("plugin %s wants more: %s", p.Name, wantsMore(p))
		}
		if len(p.Changed) > 0 {
			add("plugin %s: %s", p.Name, changedTools(p))
		}
	}
	for _, fault := range d.Faults {
		if fault.Plugin == "" || fault.Tool != "" || !told[fault.Plugin] {
			add("%s", fault.Error())
		}
	}
	return out
}

// startingText says what a daemon that starts waits for.
func startingText(d control.State) string {
	var names []string
	for _, p := range d.Plugins {
		if p.State == plugin.Starting {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "it is starting"
	}
	return "it is starting, and waits for " + strings.Join(names, ", ")
}

func (d daemonStatus) health() string {
	switch {
	case d.Starting:
		return "starting"
	case d.Healthy:
		return "well"
	}
	return "not well"
}

func (d daemonStatus) print(w *output.Writer) {
	states := map[string]int{}
	for _, p := range d.Plugins {
		states[string(p.State)]++
	}
	var plugins []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		plugins = append(plugins, fmt.Sprintf("%d %s", states[state], state))
	}
	if n := len(d.Leaving); n > 0 {
		plugins = append(plugins, fmt.Sprintf("%d draining", n))
	}
	w.Fields([]output.Field{
		{Name: "daemon", Value: d.health()},
		{Name: "pid", Value: fmt.Sprint(d.PID)},
		{Name: "version", Value: d.Version},
		{Name: "revision", Value: d.Revision},
		{Name: "since", Value: d.Since.Format(time.RFC3339)},
		{Name: "root", Value: d.Identity.Root},
		{Name: "configuration", Value: output.OrDash(d.Identity.Config)},
		{Name: "audit log", Value: output.OrDash(d.Audit)},
		{Name: "plugins", Value: output.OrDash(strings.Join(plugins, ", "))},
		{Name: "tools", Value: fmt.Sprint(d.Tools)},
		{Name: "calls", Value: fmt.Sprint(d.Calls)},
		{Name: "fleet", Value: fleetText(d.Fleet)},
	})
	for _, p := range d.Problems {
		w.Printf("problem: %s\n", p)
	}
	for _, p := range d.Warnings {
		w.Printf("warning: %s\n", p)
	}
}
