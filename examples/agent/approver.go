package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/policy"
)

// yes approves everything.
func yes(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Verdict: policy.Allow, By: "-yes"}, nil
}

// question asks the person at a terminal.
type question struct{ terminal io.ReadWriter }

// Approve implements [policy.Approver]. It shows the whole call and takes nothing
// but a clear yes for one.
func (q question) Approve(ctx context.Context, r policy.Request) (policy.Decision, error) {
	_, err := fmt.Fprintf(q.terminal, "\n%s (%s) wants to run with\n%s\nRun it? [y/N] ",
		r.Definition.Name, r.Definition.Safety.Effective(), harmless(string(r.Call.Arguments)))
	if err != nil {
		return policy.Decision{}, err
	}
	// A read from a terminal cannot be interrupted. Where the context ends, so
	// does the program, and the reader with it.
	line := make(chan string, 1)
	go func() {
		text, err := bufio.NewReader(q.terminal).ReadString('\n')
		if err != nil {
			text = "" // an answer that was cut off does not count as a yes
		}
		line <- text
	}()
	select {
	case <-ctx.Done():
		return policy.Decision{}, ctx.Err()
	case text := <-line:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return policy.Decision{Verdict: policy.Allow, By: "terminal"}, nil
		}
		return policy.Decision{Reason: "the person at the terminal said no", By: "terminal"}, nil
	}
}

// harmless is text that cannot steer a terminal, or reorder what it shows.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
