package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func dangerous(arguments string) policy.Request {
	return policy.Request{
		Call:       tool.Call{Name: "fs_write", Arguments: []byte(arguments)},
		Definition: tool.Definition{Name: "fs.write", Safety: tool.Dangerous},
	}
}

// terminal is two ends of a line: the program's and the person's, who has read
// the question when the channel has it.
func terminal(t *testing.T) (program, person net.Conn, asked <-chan string) {
	t.Helper()
	program, person = net.Pipe()
	t.Cleanup(func() { _ = program.Close(); _ = person.Close() })
	question := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(person).ReadString(']')
		question <- text
		_, _ = io.Copy(io.Discard, person) // the program's end closes it
	}()
	return program, person, question
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]policy.Verdict{
		"y\n": policy.Allow, " YES \r\n": policy.Allow,
		"\n": policy.Deny, "n\n": policy.Deny, "yep\n": policy.Deny, "y": policy.Deny, "": policy.Deny,
	} {
		program, person, asked := terminal(t)
		shown := make(chan string, 1)
		go func() {
			shown <- <-asked
			_, _ = io.WriteString(person, answer)
			if !strings.HasSuffix(answer, "\n") {
				_ = person.Close()
			}
		}()
		got, err := question{program}.Approve(t.Context(), dangerous("{\"path\":\"a\u009b2J\u202eb\"}"))
		if err != nil || got.Verdict != want || (got.Reason == "") != (want == policy.Allow) {
			t.Errorf("%q: %+v, %v", answer, got, err)
		}
		if text := <-shown; !strings.Contains(text, "fs.write (dangerous) wants to run with\n{\"path\":\"a\ufffd2J\ufffdb\"}\nRun it? [y/N]") {
			t.Errorf("asked %q", text)
		}
	}
}

func TestQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	program, _, asked := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if got, err := (question{program}).Approve(ctx, dangerous(`{}`)); !errors.Is(err, context.Canceled) || got.Verdict != policy.Deny {
		t.Errorf("%+v, %v", got, err)
	}
}
