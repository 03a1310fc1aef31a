package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const order = `{"type":"object","properties":{
	"size":{"type":"string","title":"Size","description":"how large","enum":["s","m"],"default":"m"},
	"count":{"type":"integer","minimum":1},
	"gift":{"type":"boolean"}},"required":["size","count"]}`

// typist is a terminal at which a person types one line after each prompt.
type typist struct {
	fakeTerminal
	lines   []string
	prompts chan struct{} // has a token for each prompt
}

func (p *typist) WriteString(s string) (int, error) {
	if strings.HasSuffix(s, ": ") || strings.HasSuffix(s, "[y/n] ") {
		p.prompts <- struct{}{}
	}
	return p.fakeTerminal.WriteString(s)
}

func (p *typist) Read(b []byte) (int, error) {
	<-p.prompts
	if len(p.lines) == 0 {
		return 0, io.EOF
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	return copy(b, line+"\n"), nil
}

func ask(t *testing.T, q tool.Question, lines ...string) (tool.Answer, string) {
	t.Helper()
	p := &typist{lines: lines, prompts: make(chan struct{}, 100)}
	a := &Asker{Open: func() (Terminal, error) { return p, nil }}
	answer, err := a.Ask(t.Context(), q)
	assert.NoError(t, err)
	a.Close()
	return answer, p.String()
}

func TestAsker(t *testing.T) {
	t.Parallel()
	form := tool.Question{Message: "Tool x asks: Which\x1b[2J one?\nRun it? [y/N]", Schema: []byte(order)}
	sure := tool.Question{Message: "Sure?"}
	for name, c := range map[string]struct {
		q       tool.Question
		lines   []string
		action  tool.Action
		content string
	}{
		"filled in":        {form, []string{"s", "2", "yes", "y"}, tool.Accept, `{"count":2,"gift":true,"size":"s"}`},
		"defaults":         {form, []string{"", "3", "", "y"}, tool.Accept, `{"count":3,"size":"m"}`},
		"by number":        {form, []string{"1", "3", "", "y"}, tool.Accept, `{"count":3,"size":"s"}`},
		"mended":           {form, []string{"x", "s", "many", "2", "", "maybe", "y"}, tool.Accept, `{"count":2,"size":"s"}`},
		"below the bound":  {form, []string{"s", "0", "", "s", "1", "", "y"}, tool.Accept, `{"count":1,"size":"s"}`},
		"not sent":         {form, []string{"s", "2", "", "n"}, tool.Decline, ""},
		"no required":      {form, []string{"s", "", "", ""}, tool.Cancel, ""},
		"left":             {form, []string{"s"}, tool.Cancel, ""},
		"yes":              {sure, []string{"", "y"}, tool.Accept, ""},
		"no":               {sure, []string{"no"}, tool.Decline, ""},
		"gone":             {sure, nil, tool.Cancel, ""},
		"a form of a word": {tool.Question{Message: "?", Schema: []byte(`{"type":"object"}`)}, []string{"y"}, tool.Accept, `{}`},
	} {
		answer, shown := ask(t, c.q, c.lines...)
		if answer.Action != c.action || string(answer.Content) != c.content {
			t.Errorf("%s: got %s %s", name, answer.Action, answer.Content)
		}
		if c.q.Message != form.Message {
			continue
		}
		for _, want := range []string{
			"Tool x asks: Which\\x1b[2J one?\n    Run it? [y/N]\n", "  Size - how large\n    1. s\n    2. m\n    [m]: ",
		} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: it shows %q without %q", name, shown, want)
			}
		}
	}
}

func TestAskerWithoutTerminal(t *testing.T) {
	t.Parallel()
	a := &Asker{Open: func() (Terminal, error) { return nil, errors.New("none") }}
	defer a.Close()
	if _, err := a.Ask(t.Context(), tool.Question{Message: "?"}); tool.CodeOf(err) != tool.CodeUnsupported {
		t.Errorf("got %v", err)
	}
}

// One question is on the terminal at a time, and each ends with its context.
func TestAskerEnds(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	f := &fakeTerminal{Reader: r}
	a := &Asker{Open: func() (Terminal, error) { return f, nil }}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := a.Ask(ctx, tool.Question{Message: "?"})
			ended <- err
		}()
	}
	cancel()
	for range 2 {
		if err := <-ended; tool.CodeOf(err) != tool.CodeCanceled {
			t.Errorf("got %v", err)
		}
	}
	_ = w.Close()
	a.Close()
}
