package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fakeTerminal answers what it was given and keeps what was asked.
type fakeTerminal struct {
	io.Reader
	bytes.Buffer
}

func (f *fakeTerminal) Read(b []byte) (int, error) { return f.Reader.Read(b) }

func request(args string) policy.Request {
	return policy.Request{
		Call:       tool.Call{Name: "fs.write", Arguments: []byte(args)},
		Definition: tool.Definition{Name: "fs.write", Description: "Writes a file.\nAll of it.", Safety: tool.Unset},
		Plugin:     "fs",
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]policy.Verdict{
		"y\n": policy.Allow, "YES\r\n": policy.Allow, "y": policy.Allow,
		"n\n": policy.Deny, "\n": policy.Deny, "": policy.Deny, "yep\n": policy.Deny, "no\ny\n": policy.Deny,
	} {
		f := &fakeTerminal{Reader: strings.NewReader(answer)}
		d, err := question{f}.ask(t.Context(), request(`{"path":"a"}`))
		if err != nil {
			t.Error(err)
		}
		equal(t, "the verdict for "+answer, d.Verdict, want)
		equal(t, "the question", f.String(), `fs.write (dangerous) wants to run.
  what:      Writes a file.
  plugin:    fs
  arguments:
    {
      "path": "a"
    }
Run it? [y/N] `)
	}
}

func TestQuestionShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	f := &fakeTerminal{Reader: strings.NewReader("n\n")}
	_, _ = question{f}.ask(t.Context(), request(`{"path":"`+"\u202e\u009b2J"+`","content":"`+strings.Repeat("x", 3000)+`"}`))
	asked := f.String()
	for _, want := range []string{`\u202e\u009b2J`, "more characters are not shown)"} {
		if !strings.Contains(asked, want) {
			t.Errorf("it does not show %q but %s", want, asked)
		}
	}
	if n := strings.Count(asked, "x"); n > maxShown {
		t.Errorf("it shows %d characters of the arguments, more than %d", n, maxShown)
	}
	equal(t, "no arguments", shownArguments(nil), "{}")
}

func TestQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := question{&fakeTerminal{Reader: r}}.ask(ctx, request("{}"))
	equal(t, "the verdict", d.Verdict, policy.Deny)
	equal(t, "the code", tool.CodeOf(err), tool.CodeCanceled)
}

func TestApprover(t *testing.T) {
	t.Parallel()
	a := &app{openTerminal: func() (io.ReadWriteCloser, error) { return nil, errors.New("no terminal") }}
	if got, done := a.approver(false); got != nil {
		done()
		t.Error("there is an approver without a terminal")
	}
	got, done := a.approver(true)
	defer done()
	d, err := got.Approve(t.Context(), request("{}"))
	if err != nil || d.Verdict != policy.Allow {
		t.Errorf("--yes gives %v, %v", d, err)
	}
}
