package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Asker puts the questions of tools to the person at a terminal, one at a time. Its method Ask
// is a [tool.Asker].
type Asker struct {
	// Open opens the terminal, when the first question comes.
	Open func() (Terminal, error)

	turn chan struct{} // has a token while a question is open
	once sync.Once

	terminal Terminal
	lines    chan string // what the person types; closed at the end of the input
}

const (
	maxLine  = 64 << 10 // of an answer, in bytes
	maxTries = 3        // for one value, and for the whole form
)

// Ask shows a question and reads the answer, field by field.
//
// # Errors
//
// [tool.CodeUnsupported] if there is no terminal; [tool.CodeCanceled] if ctx ends first.
func (a *Asker) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	a.once.Do(func() { a.turn = make(chan struct{}, 1) })
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return tool.Answer{}, ctx.Err()
	}
	if err := a.open(); err != nil {
		_, err = tool.Ask(context.Background(), q) // which none answers
		return tool.Answer{}, tool.AsError(err).Fix("there is no terminal: run the command from one, or give the tool all it needs as arguments")
	}
	f, err := form.Parse(q.Schema)
	if err != nil {
		return tool.Answer{}, err
	}
	first, rest, _ := strings.Cut(sanitize.Text(q.Message), "\n")
	a.say(first + "\n")
	if rest != "" { // looks like part of the question, and of nothing else
		a.say(output.Indent(rest, "    ") + "\n")
	}
	answer, err := a.answer(ctx, q, f)
	if errors.Is(err, io.EOF) {
		a.say("\n")
		return tool.Answer{Action: tool.Cancel}, nil
	}
	return answer, err
}

// open opens the terminal, once, and reads from it until it is closed: not every system can
// interrupt a read.
func (a *Asker) open() error {
	if a.terminal != nil {
		return nil
	}
	t, err := a.Open()
	if err != nil {
		return err
	}
	a.terminal, a.lines = t, make(chan string)
	go func() {
		defer close(a.lines)
		for in := bufio.NewReader(t); ; {
			line, err := in.ReadString('\n')
			if err != nil || len(line) > maxLine {
				return
			}
			a.lines <- line
		}
	}()
	return nil
}

// Close closes the terminal, if it was opened.
func (a *Asker) Close() {
	if a.terminal != nil {
		_ = a.terminal.Close()
		go func() {
			for range a.lines { // lets the reader end
			}
		}()
	}
}

func (a *Asker) say(text string) { _, _ = io.WriteString(a.terminal, text) }

// answer asks for a yes or for each field of a form.
func (a *Asker) answer(ctx context.Context, q tool.Question, f form.Form) (tool.Answer, error) {
	if err := a.discard(); err != nil {
		return tool.Answer{}, err
	}
	if len(f.Fields) == 0 {
		yes, err := a.confirm(ctx, "[y/n] ")
		if err == nil && yes && q.Schema != nil {
			return tool.Answer{Action: tool.Accept, Content: []byte("{}")}, nil
		}
		return decided(yes), err
	}
	judge, err := schema.CompileInput(q.Schema)
	if err != nil {
		return tool.Answer{}, err
	}
	a.say("  (Enter takes what is in brackets; Ctrl-D leaves the question open)\n")
	for range maxTries {
		content, err := a.fill(ctx, f)
		if err != nil {
			return tool.Answer{}, err
		}
		if err := judge.Check(ctx, content); err != nil {
			a.say("  " + sanitize.Line(err.Error(), 1000) + "\n")
			continue
		}
		yes, err := a.confirm(ctx, "Send it? [y/n] ")
		answer := decided(yes)
		if yes {
			answer.Content = content
		}
		return answer, err
	}
	return tool.Answer{Action: tool.Cancel}, nil
}

func decided(yes bool) tool.Answer {
	if yes {
		return tool.Answer{Action: tool.Accept}
	}
	return tool.Answer{Action: tool.Decline}
}

// fill asks for each field and returns the object.
func (a *Asker) fill(ctx context.Context, f form.Form) (json.RawMessage, error) {
	filled := map[string]json.RawMessage{}
	for _, field := range f.Fields {
		value, err := a.field(ctx, field)
		if err != nil {
			return nil, err
		}
		if value != nil {
			filled[field.Name] = value
		}
	}
	return json.Marshal(filled)
}

// field asks for one value; nil: it is left out.
func (a *Asker) field(ctx context.Context, f form.Field) (json.RawMessage, error) {
	name := f.Title
	if name == "" {
		name = f.Name
	}
	prompt := "  " + sanitize.Line(name, 100)
	if f.Description != "" {
		prompt += " - " + sanitize.Line(f.Description, 400)
	}
	for i, c := range f.Choices {
		text := c.Value
		if c.Title != "" {
			text = c.Title
		}
		prompt += fmt.Sprintf("\n    %d. %s", i+1, sanitize.Line(text, 200))
	}
	if f.Choices != nil {
		prompt += "\n   "
	}
	switch by := f.DefaultText(); {
	case by != "":
		prompt += " [" + sanitize.Line(by, 200) + "]"
	case !f.Required:
		prompt += " [none]"
	case f.Type == "boolean":
		prompt += " (yes or no)"
	}
	for range maxTries {
		a.say(prompt + ": ")
		line, err := a.line(ctx)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" && (f.Default != nil || !f.Required) {
			return f.Default, nil
		}
		value, err := f.Read(line)
		if err == nil {
			return value, nil
		}
		a.say("  " + err.Error() + "\n")
	}
	return nil, io.EOF
}

// confirm asks until the answer is a clear yes or no.
func (a *Asker) confirm(ctx context.Context, prompt string) (bool, error) {
	for {
		a.say(prompt)
		line, err := a.line(ctx)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// line returns the next line that the person types.
func (a *Asker) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-a.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		a.say("\n")
		return "", tool.Errorf(tool.CodeOf(ctx.Err()), "ended while waiting for an answer: %w", ctx.Err())
	}
}

// discard drops what was typed before the question: the person had not read it.
func (a *Asker) discard() error {
	for {
		select {
		case _, ok := <-a.lines:
			if !ok {
				return io.EOF
			}
			continue
		default:
		}
		if err := a.terminal.Discard(); err != nil {
			return fmt.Errorf("input typed before the question cannot be discarded: %w", err)
		}
		return nil
	}
}
