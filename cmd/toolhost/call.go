package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// callFlags are one call's.
type callFlags struct {
	args    []string
	grants  []string
	yes     bool
	timeout time.Duration
	audit   string
}

const aboutCall = `Call a tool and print what it answers.

The arguments are a JSON object: the text itself, @FILE for a file's content, or
- for standard input. --arg sets single ones, over those of the object: where the
tool takes a string the value is that text, else it is JSON.

The call is put on record in the audit log, see toolhost audit. Where a daemon runs
that has the root and the plugin directories in common with the command, it runs the
call and puts it on record, and gives no grant and takes no --yes that its operator
does not let callers have, see toolhost serve.

A tool may need a capability, which --grant gives for this call. A dangerous one
asks on the terminal, also where standard input is something else, and is refused
where there is no terminal; --yes answers in advance.

A result goes to standard output, as it is where that is no terminal; one block
of binary data is written as bytes. A failure goes to standard error. With --json
the outcome goes to standard output, whatever it is.`

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call NAME [JSON | @FILE | -]",
		Short: "Call a tool",
		Long:  aboutCall,
		Example: `  toolhost call fs.read '{"path":"README.md"}' --grant fs:read
  toolhost call fs.list --arg recursive=true --arg glob='*.go' --grant fs:read --json`,
		Args:              callArguments,
		ValidArgsFunction: a.completeArgument(toolNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.call(cmd.Context(), args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.args, "arg", nil, "one argument, `name=value`; may be repeated")
	flags.StringSliceVar(&f.grants, "grant", nil, "a `capability` for this call, such as fs:read; may be repeated")
	flags.BoolVar(&f.yes, "yes", false, "run a dangerous tool without asking")
	flags.StringVar(&f.audit, "audit", "", "the `file` in which the call is put on record, or "+noAudit+" (default $"+auditVariable+
		", else toolhost/audit.jsonl in the user's state directory)")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long the call may take, such as 30s; starting the plugins does not count (default: the tool's own limit)")
	a.completeFlag(cmd, "grant", capabilities)
	return cmd
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

// call carries out the command. What is wrong with the command line itself is
// found before any plugin starts; the arguments are the host's to judge.
func (a *app) call(ctx context.Context, name string, source []string, f callFlags) error {
	grants, err := parseGrants(f.grants)
	if err != nil {
		return err
	}
	if f.timeout < 0 {
		return usage(fmt.Sprintf("--timeout %v is below zero", f.timeout), "give a time such as 30s")
	}
	pairs, err := parsePairs(f.args)
	if err != nil {
		return err
	}
	text, err := a.readArguments(ctx, source)
	if err != nil {
		return err
	}
	n := needs{options: func() ([]host.Option, func(), error) { return a.record(f.audit) }}
	if f.audit != "" {
		n.alone = "--audit"
	}
	return a.withHost(ctx, n, func(h *opened) error {
		if len(pairs) > 0 { // their types are the tool's to say
			t, _, err := h.find(ctx, name)
			if err != nil {
				return err
			}
			text = pairs.over(text, t.InputSchema)
		}
		approver, done := a.approver(f.yes)
		defer done()
		answer := h.call(ctx, control.Call{Name: name, Arguments: text, Grants: grants, Timeout: f.timeout, Yes: f.yes}, approver)
		if fault := h.blame(name); fault != nil && errors.Is(answer.Err, tool.ErrNotFound) {
			answer = answer.Failed(fault)
		}
		return a.printAnswer(answer)
	})
}

// bounded is ctx with a limit; 0: none.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("--timeout of %v is over", limit))
}

func parseGrants(words []string) ([]tool.Capability, error) {
	var out []tool.Capability
	for _, w := range words {
		c := tool.Capability(w)
		if !c.Valid() {
			return nil, usage(fmt.Sprintf("%q is no capability", w), "a capability is a word, or two with a colon between them, such as fs:read")
		}
		out = append(out, c)
	}
	return out, nil
}

// blame is why a tool, if it is not there, may be missing: it was refused itself,
// or a plugin that its name begins with did not load. Nil: nothing points there.
func (h *opened) blame(name string) error {
	prefix, _, _ := strings.Cut(name, ".")
	for _, fault := range h.faulty() {
		if fault.Tool == name || fault.Tool == "" && fault.Plugin != "" && fault.Plugin == prefix {
			return &failure{exitUnavailable, missing(name, fault)}
		}
	}
	return nil
}

func missing(name string, fault *tool.Error) error {
	out := *fault
	out.Code, out.Tool = tool.CodeUnavailable, name
	out.Message = fmt.Sprintf("tool %s is not there: %s", name, message(fault, fault))
	out.Err = fault
	return &out
}

// printAnswer prints what came of the call, and gives the error that the exit status is
// made of.
func (a *app) printAnswer(answer control.Answer) error {
	res, err := answer.Result, answer.Err
	switch {
	case a.json:
		if failed := a.out.outcome(answer.Outcome); failed != nil {
			return failed
		}
	case err == nil && !res.IsError:
		a.printResult(res, answer.Outcome.Content)
	}
	if err == nil && res.IsError {
		return &failure{exitFailed, errors.New(answer.Outcome.Content)}
	}
	return err
}

// printResult prints a result, of which text is all that can be read.
func (a *app) printResult(res tool.Result, text string) {
	if blob, ok := soleBytes(res); ok && !a.out.terminal {
		_, _ = a.out.Write(blob)
		return
	}
	if !a.out.terminal {
		_, _ = a.out.WriteString(text)
		return
	}
	a.out.text(text)
	if !strings.HasSuffix(text, "\n") {
		_, _ = a.out.WriteString("\n")
	}
}

// soleBytes is the data of a result that is one block of data.
func soleBytes(res tool.Result) ([]byte, bool) {
	if len(res.Content) != 1 {
		return nil, false
	}
	switch c := res.Content[0].(type) {
	case tool.ResourceContent:
		return c.Blob, c.Blob != nil
	case tool.ImageContent:
		return c.Data, true
	case tool.AudioContent:
		return c.Data, true
	}
	return nil, false
}
