package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fakeTerminal answers what it was given and keeps what was asked.
type fakeTerminal struct {
	io.Reader
	bytes.Buffer
}

func (f *fakeTerminal) Read(b []byte) (int, error) { return f.Reader.Read(b) }
func (*fakeTerminal) Close() error                 { return nil }
func (*fakeTerminal) Discard() error               { return nil }
func (*fakeTerminal) Foreground() bool             { return true }

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
		d, err := Approver{Terminal: f}.Approve(t.Context(), request(`{"path":"a"}`))
		assert.NoError(t, err)
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
	_, _ = Approver{Terminal: f}.Approve(t.Context(), request(`{"path":"`+"\u202e\u009b2J"+`","content":"`+strings.Repeat("x", 3000)+`","force":true}`))
	asked := f.String()
	for _, want := range []string{`\u202e\u009b2J`, "bytes of arguments are not shown, of: content\n  arguments:\n", `"force": true`} {
		assert.Containsf(t, asked, want, "it does not show %q but", want)
	}
	if n := strings.Count(asked, "x"); n > maxArguments {
		t.Errorf("it shows %d characters of the arguments, more than %d", n, maxArguments)
	}
	none, _ := shownArguments(nil)
	equal(t, "no arguments", none, "{}")
}

// What the plugin says of the call is shown, as its word, coloured as a diff where
// that is welcome, and can do nothing to the terminal.
func TestQuestionShowsPreview(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", maxPreview+10)
	for name, c := range map[string]struct {
		res     tool.Result
		err     error
		colored bool
		want    string
		shown   bool
	}{
		"a diff":   {res: tool.Text("--- a\n+++ b\n@@ -1 +1 @@\n-x\x1b[2J\n+y\n z\n"), want: "    --- a\n    +++ b\n    @@ -1 +1 @@\n    -x\\x1b[2J\n    +y\n     z\n", shown: true},
		"colours":  {res: tool.Text("--- a\n-x\n+y\n"), colored: true, want: "\x1b[1m--- a\x1b[0m\n    \x1b[31m-x\x1b[0m\n    \x1b[32m+y\x1b[0m\n", shown: true},
		"too long": {res: tool.Text(long), want: "(10 more characters are not shown)", shown: true},
		"a fault":  {err: errors.New("it is\x1b[2J broken"), want: "preview:   it could not be made: it is\\x1b[2J broken\n", shown: true},
		"none":     {err: tool.NoPreview("fs.write"), want: "Run it? [y/N] "},
	} {
		f := &fakeTerminal{Reader: strings.NewReader("n\n")}
		r := request("{}")
		r.Preview = func(context.Context) (tool.Result, error) { return c.res, c.err }
		if _, err := (Approver{f, c.colored}).Approve(t.Context(), r); err != nil {
			t.Error(err)
		}
		if asked := f.String(); !strings.Contains(asked, c.want) || strings.Contains(asked, "preview") != c.shown {
			t.Errorf("%s: it asks %q, without %q", name, asked, c.want)
		}
	}
}

func TestNoQuestionAboutWhatWouldFail(t *testing.T) {
	t.Parallel()
	f := &fakeTerminal{Reader: strings.NewReader("y\n")}
	r := request("{}")
	r.Preview = func(context.Context) (tool.Result, error) { return tool.Failure("the file has changed"), nil }
	d, err := Approver{Terminal: f}.Approve(t.Context(), r)
	if d.Verdict != policy.Fail || err != nil || f.Len() > 0 {
		t.Errorf("%v, %v; it asks %q", d, err, f.String())
	}
}

func TestQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := Approver{Terminal: &fakeTerminal{Reader: r}}.Approve(ctx, request("{}"))
	equal(t, "the verdict", d.Verdict, policy.Deny)
	equal(t, "the code", tool.CodeOf(err), tool.CodeCanceled)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}
