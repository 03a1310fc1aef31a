package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutApprovals = `Show and answer the questions that wait in the daemon's queue.

A call that needs approval waits there if the configuration says so: ask: [queue], or
ask: [client, queue] for what a client cannot ask itself, under approvals, a caller or a tool.
What is approved is what runs: a call whose tool changes while it waits is denied.

A question waits for approvals.timeout (5m). It is denied when the daemon ends, and withdrawn
when its caller gives up. Only the user who runs the daemon, and root, can answer; the first
answer counts, and the audit log has who gave it.

The daemon is the one on the socket (--socket), whatever its root. With --follow each question is
shown in full, and how it ends. On a terminal it asks you: y approves, n denies, and what you type
after n is the reason; an empty line leaves the question to others.`

func newApprovalsCommand(s *session.Session) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "Show and answer the questions that wait in the daemon", Long: aboutApprovals,
		Example: `  toolhost approvals
  toolhost approvals show k3v9x2mq
  toolhost approvals approve k3v9x2mq
  toolhost approvals deny k3v9x2mq --reason "use the staging database"
  toolhost approvals --follow`,
		Args: noArguments,
		RunE: withCallers(s, true, func(ctx context.Context, c *control.Client, _ []string) error {
			if follow {
				return followApprovals(ctx, s, c)
			}
			return listApprovals(ctx, s, c)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show each question that comes, and how it ends, until interrupted")
	show := &cobra.Command{
		Use: "show ID", Short: "Show a question in full, with what the call would do", Example: "  toolhost approvals show k3v9x2mq",
		RunE: withCallers(s, true, func(ctx context.Context, c *control.Client, args []string) error {
			return showApproval(ctx, s, c, args[0])
		}),
	}
	approve := &cobra.Command{
		Use: "approve ID", Short: "Let the call run, as the question shows it", Example: "  toolhost approvals approve k3v9x2mq",
		RunE: withCallers(s, true, func(ctx context.Context, c *control.Client, args []string) error {
			return answerApproval(ctx, s, c, args[0], policy.Decision{Verdict: policy.Allow})
		}),
	}
	var reason string
	deny := &cobra.Command{
		Use: "deny ID", Short: "Refuse the call; the caller is told the reason",
		Example: `  toolhost approvals deny k3v9x2mq --reason "use the staging database"`,
		RunE: withCallers(s, true, func(ctx context.Context, c *control.Client, args []string) error {
			return answerApproval(ctx, s, c, args[0], policy.Decision{Verdict: policy.Deny, Reason: reason})
		}),
	}
	deny.Flags().StringVar(&reason, "reason", "", "`TEXT` that the caller is told")
	for _, one := range []*cobra.Command{show, approve, deny} {
		one.Args, one.ValidArgsFunction = oneName("a question"), completeApprovals(s)
	}
	cmd.AddCommand(show, approve, deny)
	return cmd
}

func listApprovals(ctx context.Context, s *session.Session, c *control.Client) error {
	all, err := c.Approvals(ctx)
	if err != nil {
		return err
	}
	return printed[approval.Question]{
		all: all, none: "no questions wait", columns: "ID|TOOL|CALLER|FROM|AGE|LEFT|ARGUMENTS", row: func(q approval.Question) []string {
			return []string{
				q.ID, printable(q.Tool), output.OrDash(printable(q.Caller)), output.OrDash(printable(q.Client)),
				age(q.Since, time.Now()), output.OrDash(left(q, time.Now())), printable(argumentsOf(q)),
			}
		},
	}.print(s)
}

func printable(s string) string { return sanitize.Line(s, 0) }

// left returns how long a question goes on waiting; empty: as long as its call.
func left(q approval.Question, now time.Time) string {
	if q.Until.IsZero() {
		return ""
	}
	return max(0, q.Until.Sub(now)).Round(time.Second).String()
}

// argumentsOf returns the arguments of a question as text, or the beginning of a long one.
func argumentsOf(q approval.Question) string {
	if q.Arguments == nil {
		return q.Begins
	}
	return string(q.Arguments)
}

func showApproval(ctx context.Context, s *session.Session, c *control.Client, id string) error {
	r, err := control.Do(ctx, c, daemonv1.DaemonHandler.GetApproval, &daemonv1.GetApprovalRequest{Id: id})
	if err != nil {
		return questionError(err)
	}
	q := control.Struct[approval.Question](r.GetApproval())
	if s.Flags.JSON {
		return s.Out.JSON(q)
	}
	printQuestion(s.Out, q)
	return nil
}

// questionError returns an error with the exit status of a command that no tool is involved in.
func questionError(err error) error {
	return exit.As(exit.Failed, exit.As(exit.BadUsage, err, tool.CodeNotFound), tool.CodeAlreadyExists)
}

// printQuestion prints a question in full.
func printQuestion(w *output.Writer, q approval.Question) {
	state := string(q.State)
	if q.By != "" {
		state += " by " + q.By
	}
	if q.Reason != "" {
		state += ": " + q.Reason
	}
	if q.State == approval.Waiting {
		state += " since " + q.Since.Local().Format(time.DateTime)
		if rest := left(q, time.Now()); rest != "" {
			state += ", for " + rest + " more"
		}
	}
	w.Fields([]output.Field{
		{Name: "question", Value: q.ID}, {Name: "state", Value: state}, {Name: "tool", Value: q.Tool + " (" + q.Safety + ")"},
		{Name: "what", Value: q.Description}, {Name: "plugin", Value: q.Plugin}, {Name: "caller", Value: terminal.From(q.Caller, q.Via, q.Client)},
		{Name: "session", Value: q.Session}, {Name: "call", Value: q.Call}, {Name: "digest", Value: q.Digest},
	})
	if q.Arguments != nil {
		w.Printf("arguments:\n%s\n", output.Indent(output.PrettyJSON(q.Arguments), "    "))
	} else {
		if q.Omitted != "" {
			w.Printf("%s\n", printable(q.Omitted))
		}
		w.Printf("arguments:\n%s\n", output.Indent(sanitize.Text(q.Begins), "    "))
	}
	switch {
	case q.PreviewError != "":
		w.Printf("preview: it could not be made: %s\n", printable(q.PreviewError))
	case q.Preview != "":
		text := strings.TrimRight(sanitize.Text(q.Preview), "\n")
		w.Printf("preview, as the plugin tells it:\n%s\n", output.Indent(terminal.Diff(text, w.Terminal() && output.ColorWelcome()), "    "))
	}
}

func answerApproval(ctx context.Context, s *session.Session, c *control.Client, id string, d policy.Decision) error {
	q, err := c.Answer(ctx, id, d)
	if err != nil {
		return questionError(err)
	}
	return s.Answer(q, "%s %s: %s of %s\n", q.State, q.ID, printable(q.Tool), output.OrDash(printable(q.Caller)))
}

// completeApprovals completes the IDs of questions.
func completeApprovals(s *session.Session) cobra.CompletionFunc {
	return completeByCallers(s, true, func(ctx context.Context, c *control.Client) (out []string) {
		all, _ := c.Approvals(ctx)
		for _, q := range all {
			out = append(out, q.ID+"\t"+printable(q.Tool+" of "+output.OrDash(q.Caller)))
		}
		return out
	})
}
