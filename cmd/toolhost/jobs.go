package main

import (
	"context"
	"fmt"
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
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutJobs = `Show the durable calls: those of tools whose rule under nats.rules says durable. They wait in a
queue of the NATS server until a host of the fleet takes them, and outlive the command, the
daemons and the server. toolhost call prints the ID of such a call, and with --detach does not
wait for it.

STATE is waiting (for a yes), queued, running, done (it has a result), failed (it has an error),
canceled, or expired: no host took it within a day. Calls are forgotten after a week. Those
submitted last are first. You see your own, and who runs the daemon sees those of all callers.
toolhost audit show takes their IDs, too.`

// jobStates are those that durable calls can be in.
var jobStates = []string{
	string(durable.StateWaiting), string(durable.StateQueued), string(durable.StateRunning), string(durable.StateDone), string(durable.StateFailed),
	string(durable.StateCanceled), string(durable.StateExpired),
}

func newJobsCommand(s *session.Session) *cobra.Command {
	var states []string
	cmd := &cobra.Command{
		Use: "jobs", Short: "List durable calls, show their results and cancel them", Long: aboutJobs,
		Example: `  toolhost call --detach gpu.render --arg scene=a.blend
  toolhost jobs --state running
  toolhost jobs show ESBCJY7MOSX4KXFSBNVQMZQSPE --wait`,
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return listJobs(cmd.Context(), s, states) },
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only calls in this `STATE`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(jobStates, cobra.ShellCompDirectiveNoFileComp))
	var wait bool
	var timeout time.Duration
	show := &cobra.Command{
		Use: "show ID", Short: "Show a durable call, and its result",
		Long: `Show a durable call, and its result if it has one. With --wait only the result is printed, when the
call has ended, as toolhost call does, with the same exit status. If you interrupt this, or the
time is over, the call goes on.`,
		Example: "  toolhost jobs show ESBCJY7MOSX4KXFSBNVQMZQSPE --wait --timeout 5m",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case timeout < 0:
				return exit.Usage(fmt.Sprintf("--timeout %v is below zero", timeout), "give a time such as 30s")
			case wait || timeout > 0:
				return waitForJob(cmd.Context(), s, args[0], timeout)
			}
			return showJob(cmd.Context(), s, args[0])
		},
	}
	show.Flags().BoolVar(&wait, "wait", false, "wait for the end of the call")
	show.Flags().DurationVar(&timeout, "timeout", 0, "wait for this `DURATION` at most, such as 30s")
	cancel := &cobra.Command{
		Use: "cancel ID", Short: "End a durable call: one that runs may have done a part of its work",
		Example: "  toolhost jobs cancel ESBCJY7MOSX4KXFSBNVQMZQSPE",
		RunE: withCallers(s, false, func(ctx context.Context, c *control.Client, args []string) error {
			return cancelJob(ctx, s, c, args[0])
		}),
	}
	for _, one := range []*cobra.Command{show, cancel} {
		one.Args, one.ValidArgsFunction = oneName("a call"), completeJobs(s)
	}
	cmd.AddCommand(show, cancel)
	return cmd
}

func listJobs(ctx context.Context, s *session.Session, states []string) error {
	for _, state := range states {
		if !slices.Contains(jobStates, state) {
			return exit.Usage(fmt.Sprintf("--state: calls are never %q", state), "use "+strings.Join(jobStates, ", "))
		}
	}
	c, err := dialCallers(ctx, s, false)
	if err != nil {
		return err
	}
	all, err := c.DurableCalls(ctx)
	if err != nil {
		return fleetError(err)
	}
	if len(states) > 0 {
		all = slices.DeleteFunc(all, func(c durable.Call) bool { return !slices.Contains(states, string(c.State)) })
	}
	none := "no durable calls: the calls of a tool are if a rule for it under nats.rules says so"
	if len(states) > 0 {
		none = "no durable calls: none is " + strings.Join(states, " or ")
	}
	return printed[durable.Call]{all: all, none: none, columns: "ID|TOOL|STATE|ATTEMPTS|WORKER|CALLER|AGE", row: func(c durable.Call) []string {
		return []string{
			c.ID, printable(c.Tool), string(c.State), strconv.Itoa(c.Attempts), output.OrDash(printable(c.Worker)),
			output.OrDash(printable(c.Caller)), age(c.Submitted, time.Now()),
		}
	}}.print(s)
}

func showJob(ctx context.Context, s *session.Session, id string) error {
	c, err := dialCallers(ctx, s, false)
	if err != nil {
		return err
	}
	call, err := c.DurableCall(ctx, id)
	if err != nil {
		return fleetError(err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(call)
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format(time.DateTime)
	}
	attempts := strconv.Itoa(call.Attempts)
	if call.Worker != "" {
		attempts += ", the last on " + call.Worker
	}
	why := ""
	if call.Error != nil {
		why = output.Message(call.Error)
	}
	s.Out.Fields([]output.Field{
		{Name: "call", Value: call.ID}, {Name: "tool", Value: call.Tool}, {Name: "definition", Value: call.Digest},
		{Name: "state", Value: string(call.State)}, {Name: "error", Value: why}, {Name: "runs", Value: string(call.Mode)},
		{Name: "attempts", Value: attempts}, {Name: "caller", Value: call.Caller}, {Name: "idempotency key", Value: call.IdempotencyKey},
		{Name: "submitted", Value: at(call.Submitted)}, {Name: "started", Value: at(call.Started)}, {Name: "ended", Value: at(call.Ended)},
	})
	if call.State == durable.StateDone {
		s.Out.Printf("\n")
		return (&callCommand{s: s}).print(c.WaitDurable(ctx, id))
	}
	return nil
}

func waitForJob(ctx context.Context, s *session.Session, id string, timeout time.Duration) error {
	c, err := dialCallers(ctx, s, false)
	if err != nil {
		return err
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("--timeout of %v is over", timeout))
		defer cancel()
	}
	answer := c.WaitDurable(ctx, id)
	if code := tool.CodeOf(answer.Err); answer.Outcome.Name == "" && (code == tool.CodeNotFound || code == tool.CodeUnsupported) {
		return fleetError(answer.Err)
	}
	return (&callCommand{s: s}).print(answer)
}

func cancelJob(ctx context.Context, s *session.Session, c *control.Client, id string) error {
	if _, err := control.Do(ctx, c, daemonv1.DaemonHandler.CancelDurableCall, &daemonv1.CancelDurableCallRequest{Id: id}); err != nil {
		return fleetError(err)
	}
	call, err := c.DurableCall(ctx, id)
	if err != nil {
		return fleetError(err)
	}
	return s.Answer(call, "%s %s of %s\n", call.State, call.ID, printable(call.Tool))
}

// queueText returns what the status says of the queue of durable calls; empty: nothing.
func queueText(q *fleet.QueueStatus) string {
	switch {
	case q == nil:
		return ""
	case !q.Open:
		return ", no durable calls: " + q.Reason
	}
	return fmt.Sprintf(", %s in the queue, %d run here, results %.0f %% full", plural(int(q.Queued), "durable call"), q.Running, 100*q.Results.Fill())
}

// completeJobs completes the IDs of calls.
func completeJobs(s *session.Session) cobra.CompletionFunc {
	return completeByCallers(s, false, func(ctx context.Context, c *control.Client) (out []string) {
		all, _ := c.DurableCalls(ctx)
		for _, c := range all {
			out = append(out, c.ID+"\t"+printable(c.Tool)+" "+string(c.State))
		}
		return out
	})
}
