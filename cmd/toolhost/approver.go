package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/policy"
)

// maxShown bounds the arguments in a question, in characters.
const maxShown = 2000

// approver asks at the terminal. Where there is none it is nil, and the host refuses;
// so it is with --yes, where nobody needs to be asked. The function gives the terminal
// back.
func (a *app) approver(yes bool) (policy.Approver, func()) {
	if yes {
		return nil, func() {}
	}
	t, err := a.openTerminal()
	if err != nil {
		return nil, func() {}
	}
	return policy.ApproverFunc(question{t, colorWelcome()}.ask), func() { _ = t.Close() }
}

// terminal is where a person reads and types.
type terminal interface {
	io.ReadWriteCloser
	// discard forgets what was typed and not read.
	discard() error
}

// question is asked where a person is, which need not be standard input.
type question struct {
	terminal terminal
	colored  bool
}

// ask shows the whole call and takes nothing but a clear yes for one.
func (q question) ask(ctx context.Context, r policy.Request) (policy.Decision, error) {
	limit := ""
	if end, ok := ctx.Deadline(); ok {
		limit = fmt.Sprintf("(no answer within %v is a no) ", time.Until(end).Round(time.Second))
	}
	yes, err := confirm(ctx, q.terminal, describe(r)+q.preview(ctx, r), "Run it? [y/N] "+limit)
	switch {
	case err != nil:
		_, _ = io.WriteString(q.terminal, "\n")
		return policy.Decision{}, err
	case yes:
		return policy.Decision{Verdict: policy.Allow, By: "terminal"}, nil
	}
	return policy.Decision{Verdict: policy.Deny, Reason: "the person at the terminal said no", By: "terminal"}, nil
}

// confirm shows a text, asks, and takes nothing but a clear yes for one. What was typed
// before the question is not an answer to it: the person had not read it.
func confirm(ctx context.Context, t terminal, shown, question string) (yes bool, err error) {
	if _, err := io.WriteString(t, shown); err != nil {
		return false, err
	}
	if err := t.discard(); err != nil {
		return false, fmt.Errorf("what was typed before cannot be told from an answer: %w", err)
	}
	if _, err := io.WriteString(t, question); err != nil {
		return false, err
	}
	answer, err := await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(t, 1<<10)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			return line, nil
		}
		return line, err
	})
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

func describe(r policy.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) wants to run.\n", r.Call.Name, r.Definition.Safety.Effective())
	fmt.Fprintf(&b, "  what:      %s\n", shorten(firstLine(r.Definition.Description), 200))
	fmt.Fprintf(&b, "  plugin:    %s\n", orDash(r.Plugin))
	fmt.Fprintf(&b, "  arguments:\n%s\n", indent(shownArguments(r.Call.Arguments), "    "))
	return b.String()
}

// shownArguments are the arguments as somebody has to judge them. That they are
// cut is told, as the end may be what matters.
func shownArguments(args []byte) string {
	if len(args) == 0 {
		return "{}"
	}
	text := prettyJSON(args)
	n := utf8.RuneCountInString(text)
	if n <= maxShown {
		return text
	}
	return fmt.Sprintf("%s\n(%d more characters are not shown)", string([]rune(text)[:maxShown]), n-maxShown)
}
