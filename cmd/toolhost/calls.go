package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutCalls = `Show the durable calls: those of tools whose rule under nats.rules says durable. They wait in a
queue of the NATS server until a host of the fleet takes them, and outlive the command, the
daemons and the server. toolhost call prints the ID of such a call, and with --detach does not
wait for it.

STATE is queued, running, done (it has a result), failed (it has an error), canceled, or
expired: no host took it within a day. Calls are forgotten after a week.

You see your own calls, and who runs the daemon sees those of all callers. Without a
subcommand this lists them, those submitted last first.`

// callStates are those that calls can be in.
var callStates = []string{
	string(durable.StateQueued), string(durable.StateRunning), string(durable.StateDone), string(durable.StateFailed),
	string(durable.StateCanceled), string(durable.StateExpired),
}

func newCallsCommand(s *session.Session) *cobra.Command {
	var states []string
	list := func(cmd *cobra.Command, _ []string) error { return listCalls(cmd.Context(), s, states) }
	cmd := &cobra.Command{
		Use: "calls", Short: "Show, wait for and cancel durable calls", Long: aboutCalls,
		Example: `  toolhost call --detach gpu.render --arg scene=a.blend
  toolhost calls
  toolhost calls wait ESBCJY7MOSX4KXFSBNVQMZQSPE`,
		Args: noArguments, RunE: list,
	}
	listed := &cobra.Command{Use: "list", Short: "List the calls, those submitted last first", Args: noArguments, RunE: list}
	for _, one := range []*cobra.Command{cmd, listed} {
		one.Flags().StringSliceVar(&states, "state", nil, "only calls in this `STATE`; may be repeated")
		_ = one.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(callStates, cobra.ShellCompDirectiveNoFileComp))
	}
	var timeout time.Duration
	wait := &cobra.Command{
		Use: "wait ID", Short: "Wait for the end of a call, and print its result",
		Long: `Wait for the end of a call, and print its result as toolhost call does, with the same exit status.
If you interrupt this, or the time is over, the call goes on.`,
		RunE: func(cmd *cobra.Command, args []string) error { return waitForCall(cmd.Context(), s, args[0], timeout) },
	}
	wait.Flags().DurationVar(&timeout, "timeout", 0, "give up after this `DURATION`, such as 30s (default: when the call ends)")
	show := &cobra.Command{
		Use: "show ID", Short: "Show a call, without its result",
		RunE: func(cmd *cobra.Command, args []string) error { return showCall(cmd.Context(), s, args[0]) },
	}
	cancel := &cobra.Command{
		Use: "cancel ID", Short: "End a call: one that runs may have done a part of its work",
		RunE: func(cmd *cobra.Command, args []string) error { return cancelCall(cmd.Context(), s, args[0]) },
	}
	for _, one := range []*cobra.Command{show, wait, cancel} {
		one.Args, one.ValidArgsFunction = oneName("a call"), completeCalls(s)
	}
	cmd.AddCommand(listed, show, wait, cancel)
	return cmd
}

// dialCalls connects to the daemon whose calls are meant, which may be another user's.
func dialCalls(ctx context.Context, s *session.Session) (*control.Client, error) {
	s.Quiet = true
	_ = s.Configure(true) // as dialDaemon does
	_, named := setup.Named(s.Settings().Config, os.Geteuid())
	return dialDaemon(ctx, s, control.Foreign(named))
}

func listCalls(ctx context.Context, s *session.Session, states []string) error {
	for _, state := range states {
		if !slices.Contains(callStates, state) {
			return exit.Usage(fmt.Sprintf("--state: calls are never %q", state), "use "+strings.Join(callStates, ", "))
		}
	}
	c, err := dialCalls(ctx, s)
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
	if s.Flags.JSON {
		return s.Out.JSON(all)
	}
	if len(all) == 0 {
		why := "the calls of a tool are if a rule for it under nats.rules says so"
		if len(states) > 0 {
			why = "none is " + strings.Join(states, " or ")
		}
		s.Err.Printf("no durable calls: %s\n", why)
		return nil
	}
	rows := output.Table{{"ID", "TOOL", "STATE", "ATTEMPTS", "WORKER", "CALLER", "AGE"}}
	for _, c := range all {
		rows.Add(c.ID, printable(c.Tool), string(c.State), strconv.Itoa(c.Attempts), output.OrDash(printable(c.Worker)),
			output.OrDash(printable(c.Caller)), age(c.Submitted, time.Now()))
	}
	s.Out.Table(rows)
	return nil
}

func showCall(ctx context.Context, s *session.Session, id string) error {
	c, err := dialCalls(ctx, s)
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
	return nil
}

func waitForCall(ctx context.Context, s *session.Session, id string, timeout time.Duration) error {
	if timeout < 0 {
		return exit.Usage(fmt.Sprintf("--timeout %v is below zero", timeout), "give a time such as 30s")
	}
	c, err := dialCalls(ctx, s)
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

func cancelCall(ctx context.Context, s *session.Session, id string) error {
	c, err := dialCalls(ctx, s)
	if err != nil {
		return err
	}
	if err := c.CancelDurable(ctx, id); err != nil {
		return fleetError(err)
	}
	call, err := c.DurableCall(ctx, id)
	if err != nil {
		return fleetError(err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(call)
	}
	s.Out.Printf("%s %s of %s\n", call.State, call.ID, printable(call.Tool))
	return nil
}

// queueText returns what the status says of the queue of durable calls; empty: nothing.
func queueText(q *fleet.QueueStatus) string {
	switch {
	case q == nil:
		return ""
	case !q.Open:
		return ", no durable calls: " + q.Reason
	}
	return fmt.Sprintf(", %s in the queue, %d run here", plural(int(q.Queued), "durable call"), q.Running)
}

// completeCalls completes the IDs of calls.
func completeCalls(s *session.Session) cobra.CompletionFunc {
	return oneOf(func(ctx context.Context) (out []string) {
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		c, err := dialCalls(ctx, s)
		if err != nil { // errors are not shown in completions
			return nil
		}
		all, _ := c.DurableCalls(ctx)
		for _, c := range all {
			out = append(out, c.ID+"\t"+printable(c.Tool)+" "+string(c.State))
		}
		return out
	})
}
