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
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutStatus = `Show how the daemon is, for people and monitors. The exit status is 0 if it is well, 1 if
something is wrong with it or needs you, and 6 if there is none or it does not answer.

What is wrong is listed: plugins that are degraded, refused, in backoff or quarantined,
upgrades that failed, changes that wait for you, callers that are refused for too many calls,
directories that cannot be followed, and a configuration that could not be reloaded. A plugin
that you disabled is not wrong.

The daemon is the one on the socket (--socket), whatever its root.`

func newStatusCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost status --json",
		Use:     "status",
		Short:   "Show whether the daemon is well",
		Long:    aboutStatus,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showStatus(cmd.Context(), s) },
	}
}

// daemonStatus is the output of status --json.
type daemonStatus struct {
	Healthy bool `json:"healthy"`
	// Problems say what is wrong, a line each.
	Problems []string `json:"problems"`
	control.State
}

func showStatus(ctx context.Context, s *session.Session) error {
	c, err := dialDaemon(ctx, s, false)
	if err != nil {
		return exit.With(exit.Unavailable, err)
	}
	state := c.State()
	out := daemonStatus{Problems: problemsOf(state), State: state}
	out.Healthy = len(out.Problems) == 0
	if !out.Healthy {
		err = exit.With(exit.Failed, fmt.Errorf("the daemon (pid %d) is not well", state.PID))
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
	if d.Draining {
		add("it is ending, and takes no more calls")
	}
	if f := d.Fleet; f != nil && !f.Reached() {
		add("the fleet on %s is not reached: %s", f.Server, f.Reason)
	}
	if f := d.Fleet; f != nil && f.Reached() && f.Queue != nil && !f.Queue.Open {
		add("tools whose rule is durable cannot be called: %s", f.Queue.Reason)
	}
	for _, r := range d.Refused {
		add("the caller %s is refused: %d times, the last at %s: %s", r.Caller, r.Calls, r.Last.Format(time.TimeOnly), r.Reason)
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

// waitingText says how many questions wait; empty: none.
func waitingText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d wait for your answer: toolhost approvals", n)
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
	health := "well"
	if !d.Healthy {
		health = "not well"
	}
	w.Fields([]output.Field{
		{Name: "daemon", Value: health},
		{Name: "pid", Value: fmt.Sprint(d.PID)},
		{Name: "version", Value: d.Version},
		{Name: "since", Value: d.Since.Format(time.RFC3339)},
		{Name: "root", Value: d.Identity.Root},
		{Name: "configuration", Value: output.OrDash(d.Identity.Config)},
		{Name: "audit log", Value: output.OrDash(d.Audit)},
		{Name: "plugins", Value: output.OrDash(strings.Join(plugins, ", "))},
		{Name: "tools", Value: fmt.Sprint(d.Tools)},
		{Name: "calls", Value: fmt.Sprint(d.Calls)},
		{Name: "approvals", Value: waitingText(d.Approvals)},
		{Name: "fleet", Value: fleetText(d.Fleet)},
	})
	for _, p := range d.Problems {
		w.Printf("problem: %s\n", p)
	}
}
