package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/arguments"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutCall = `Call a tool and print its result.

The arguments are a JSON object: the text itself, @FILE for the content of a file, or
- for standard input. --arg sets single arguments, which override those of the object.
The tool's schema decides what they mean: the value is text if the tool takes a string,
else JSON; o.a is the member a of the argument o; a list may be given as JSON, or
--arg repeated for each element. What can be read in two ways is refused.

The call is recorded in the audit log, see toolhost audit. If a daemon runs with the
same root and plugin directories, it runs and records the call, and never exceeds the
grants and approvals its operator allows, see toolhost serve.

A tool may need a capability, which --grant gives for this call. A dangerous tool asks
for approval on the terminal, even if standard input is something else, and is refused
if there is no terminal; --yes approves the call in advance. A tool may ask for what it
needs, field by field, on the terminal too; without one it gets no answer.

A tool whose rule under nats.rules says durable waits in a queue for a host of the fleet. The ID
of its call goes to standard error, or with --detach to standard output, and the command
returns. The call goes on if you interrupt the command, or its time is over, see toolhost jobs.

With --on HOST, that host of the daemon's fleet runs the call, or the call fails.

With --plugin FILE the tool is one of that executable, which need not be installed, and
no other plugin is started. No daemon is used, and a lock counts only if the
configuration requires it.

The result goes to standard output, without changes unless that is a terminal, which gets
printable text, as it comes, and indented JSON; a single block of binary data is written as
bytes. A failure goes to standard error, and on a terminal how far the call is. With --json
the outcome goes to standard output, whatever it is.`

// callCommand is toolhost call.
type callCommand struct {
	s       *session.Session
	args    []string
	grants  []string
	yes     bool
	timeout time.Duration
	audit   string
	session string
	on      string // a host of the daemon's fleet; empty: any
	key     string // of idempotency; empty: none
	detach  bool   // it is durable, and not waited for
	format  string
}

func newCallCommand(s *session.Session) *cobra.Command {
	c := callCommand{s: s}
	cmd := &cobra.Command{
		Use:   "call NAME [JSON | @FILE | -]",
		Short: "Call a tool",
		Long:  aboutCall,
		Example: `  toolhost call fs.read '{"path":"README.md"}' --grant fs:read
  toolhost call fs.list --arg recursive=true --arg glob='*.go' --grant fs:read
  toolhost call --plugin ./hello hello --arg name=World`,
		Args:              callArguments,
		ValidArgsFunction: completeArgument(s, toolNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1:]) },
	}
	c.bind(cmd)
	s.Flags.BindPlugin(cmd)
	cmd.Flags().StringVar(&c.session, "session", "",
		"call in the session of the daemon with this `NAME`, begun if it is not there, see toolhost sessions")
	completeFlag(s, cmd, "session", sessionNames)
	cmd.Flags().StringVar(&c.on, "on", "", "the `HOST` of the daemon's fleet that is to run the call (default: any)")
	_ = cmd.RegisterFlagCompletionFunc("on", completeHosts(s))
	cmd.Flags().StringVar(&c.key, "idempotency-key", "",
		"the `KEY` of this call, which its tool gets: a durable call with the same key is the same call")
	cmd.Flags().BoolVar(&c.detach, "detach", false, "print the ID of a durable call once it is in the queue, and do not wait, see toolhost jobs")
	_ = cmd.RegisterFlagCompletionFunc("arg", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return c.complete(cmd.Context(), args, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return cmd
}

// bind adds the flags of a call.
func (c *callCommand) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&c.args, "arg", nil, "one argument, `NAME=VALUE`, or a part of one; may be repeated")
	flags.StringSliceVar(&c.grants, "grant", nil, "`CAPABILITY` for this call, such as fs:read; may be repeated")
	flags.BoolVar(&c.yes, "yes", false, "run a dangerous tool without asking")
	flags.DurationVar(&c.timeout, "timeout", 0,
		"give up after this `DURATION`, such as 30s, not counting the start of plugins (default: the tool's own limit)")
	flags.StringVar(&c.format, "for", "",
		"the arguments are a model's that was given toolhost tools --for `PROVIDER`")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	bindAuditFlag(cmd, &c.audit)
	completeFlag(c.s, cmd, "grant", capabilities)
}

// complete completes a value of --arg by the schema of the tool.
func (c *callCommand) complete(ctx context.Context, args []string, typed string) []string {
	if len(args) == 0 {
		return nil
	}
	given := slices.DeleteFunc(slices.Clone(c.args), func(g string) bool { return g == typed })
	return complete(ctx, c.s, func(ctx context.Context, b *control.Client) []string {
		t, _, _ := b.Tool(ctx, args[0]) // errors are not shown in completions
		return arguments.Complete(t.InputSchema, given, typed)
	})
}

func callArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("%s needs the name of a tool", cmd.CommandPath())
	case len(args) > 2:
		return fmt.Errorf("%s takes a name and one text of arguments, not %d words (is the JSON in quotes?)", cmd.CommandPath(), len(args))
	}
	return nil
}

// request is a call as the command line has it.
type request struct {
	name   string
	grants []tool.Capability
	pairs  arguments.Pairs
	text   []byte
	format llmschema.Format
}

// request checks the command line before any plugin starts; the host checks the arguments.
func (c *callCommand) request(ctx context.Context, name string, source []string) (r request, err error) {
	r.name = name
	if r.grants, err = session.ParseGrants(c.grants); err != nil {
		return r, err
	}
	if c.timeout < 0 {
		return r, exit.Usage(fmt.Sprintf("--timeout %v is below zero", c.timeout), "give a time such as 30s")
	}
	if r.pairs, err = arguments.Parse(c.args); err != nil {
		return r, err
	}
	if r.text, err = readArguments(ctx, c.s.Stdin, source); err != nil {
		return r, err
	}
	if c.format != "" {
		r.format, err = parseFormat(c.format)
	}
	return r, err
}

func (c *callCommand) run(ctx context.Context, name string, source []string) error {
	r, err := c.request(ctx, name, source)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(name, ".") // the error tells why a plugin of this name has no such tool
	needs := session.Needs{Record: true, Audit: c.audit, Called: prefix}
	if c.session != "" {
		if err := control.CheckSession(c.session); err != nil {
			return exit.With(exit.BadUsage, err)
		}
		if c.s.Flags.Plugin != "" {
			return exit.Usage("--session has no effect with --plugin", "leave one of them out: sessions are kept by a daemon")
		}
		needs.Daemon = "plugins keep the state of a session, and those of a command alone end with it"
	}
	if c.detach {
		if c.timeout > 0 || c.s.Flags.Plugin != "" {
			return exit.Usage("--detach does not go with --timeout and --plugin", "leave them out: nothing is waited for, and the fleet has the plugin")
		}
		needs.Daemon = "durable calls are those of the daemon's fleet"
	}
	if c.on != "" {
		needs.Daemon = "it is the daemon that is in a fleet"
	}
	return c.s.Use(ctx, needs, func(b *control.Client) error {
		answer, err := c.call(ctx, b, r)
		if err != nil {
			return err
		}
		return c.print(answer)
	})
}

// tellDenied says what the sandbox of a plugin has denied since a call began that failed. A host of
// the command's own has logged it.
func (c *callCommand) tellDenied(ctx context.Context, b *control.Client, name string, began time.Time) {
	if b.Alone() || name == "" {
		return
	}
	s, err := b.Sandbox(ctx, name)
	if err != nil || s == nil {
		return // the answer counts
	}
	var what []string
	for _, d := range s.Denied {
		if d.Last.After(began) {
			what = append(what, d.What)
		}
	}
	if len(what) > 0 {
		c.s.Warn(&tool.Error{
			Message:      "the sandbox of plugin " + name + " denied: " + strings.Join(what, ", "),
			OperatorHint: "see toolhost plugins show " + name,
		})
	}
}

// call runs a call. An error is about its arguments.
func (c *callCommand) call(ctx context.Context, b *control.Client, r request) (answer control.Answer, err error) {
	text := r.text
	if r.format != "" {
		t, _, err := b.Tool(ctx, r.name)
		if err != nil {
			return answer, err
		}
		if text, err = ownNames(r.format, t.Definition, text); err != nil {
			return answer, err
		}
	}
	if len(r.pairs) > 0 { // the tool decides their types
		t, _, err := b.Tool(ctx, r.name)
		if err != nil {
			return answer, err
		}
		if text, err = r.pairs.Over(text, t.InputSchema); err != nil {
			return answer, err
		}
	}
	approver, done := c.s.Approver(c.yes)
	defer done()
	ask, silent := c.s.Asker()
	defer silent()
	if !c.s.Flags.JSON {
		live := output.Live{Out: c.s.Out, Err: c.s.Err}
		defer live.End()
		ctx, ask = live.Watch(ctx), live.Asker(ask)
	}
	ctx = context.WithValue(tool.WithAsker(ctx, ask), callctx.Trace{}, callerTrace())
	began := time.Now()
	answer = b.Call(ctx, control.Call{
		Name: r.name, Session: c.session, On: c.on, Arguments: text, Grants: r.grants, Timeout: c.timeout, Yes: c.yes,
		IdempotencyKey: c.key, Detach: c.detach, Told: c.tell,
	}, approver)
	if answer.Begun {
		c.s.Notef("session %s begins", c.session)
	}
	if !answer.Outcome.Success {
		c.tellDenied(ctx, b, answer.Outcome.Metadata.Plugin, began)
	}
	if tool.CodeOf(answer.Err) == tool.CodeNotFound {
		if why := whyMissing(ctx, c.s, b, r.name); why != nil {
			answer = answer.Failed(why)
		}
	}
	return answer, nil
}

// callerTrace is the trace that the environment names, as that of a step of a CI job.
func callerTrace() *tool.Trace {
	t := tracecontext.Valid(tool.Trace{Parent: os.Getenv("TRACEPARENT"), State: os.Getenv("TRACESTATE")})
	return &t
}

// tell says what the ID of a durable call is.
func (c *callCommand) tell(id string) {
	if !c.detach {
		c.s.Notef("the call is in the queue: toolhost jobs show %s --wait prints its result, too", id)
	}
}

// print prints an answer, and returns the error that decides the exit status.
func (c *callCommand) print(answer control.Answer) error {
	res, err := answer.Result, answer.Err
	switch {
	case answer.Detached != "" && c.s.Flags.JSON:
		return c.s.Out.JSON(map[string]any{"id": answer.Detached, "name": answer.Outcome.Name})
	case answer.Detached != "":
		c.s.Out.Printf("%s\n", answer.Detached)
		return nil
	case c.s.Flags.JSON:
		if bad := c.s.Out.Outcome(answer.Outcome, err); bad != nil {
			return bad
		}
	case err == nil && !res.IsError:
		c.s.Out.Result(res, answer.Outcome.Content)
	default:
		c.s.Out.EndText()
	}
	return failure(answer)
}

// failure returns the error of a call that did not succeed.
func failure(answer control.Answer) error {
	if answer.Err == nil && answer.Result.IsError {
		return exit.With(exit.Failed, errors.New(answer.Outcome.Content))
	}
	return answer.Err
}

// ownNames returns the arguments of a model with the names that the tool's schema has.
func ownNames(f llmschema.Format, d tool.Definition, args []byte) ([]byte, error) {
	var opts []llmschema.Option
	if f == llmschema.OpenAI || f == llmschema.OpenAIResponses { // the model may have been held to the strict schema
		opts = append(opts, llmschema.Strict())
	}
	offer, err := llmschema.Export(f, []tool.Definition{d}, opts...)
	if err != nil {
		return nil, err
	}
	exported := d.Alias
	if f == llmschema.MCP {
		exported = d.Name
	}
	return offer.Arguments(exported, args), nil
}
