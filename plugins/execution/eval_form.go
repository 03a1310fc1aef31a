package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/check"
	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const evalDescription = `Evaluates Go with the real toolchain in the scope of a package of the workspace, unexported names included.

An expression returns its values and types. Statements run; if the last is an expression, its values are returned. Declarations (func, type, var, const, import) at the beginning of a form last for the session, in that package: declaring a name again replaces it, one of the package itself too (its file is unchanged), and a declaration that would break earlier ones is refused. Each form is a program of its own: variables start again from their initializers, and x := 1 is gone after its form.

Programs have limits on time, memory, processes and output, and an empty standard input. When one ends, everything it started ends too. On Linux it can start no programs, use no network, and write to os.TempDir() alone, unless the operator lets it; elsewhere a note says that it is not confined.`

// evaluation is the result of eval_form.
type evaluation struct {
	OK        bool           `json:"ok"`
	Form      int            `json:"form" jsonschema:"number of the form in the session"`
	Package   string         `json:"package,omitempty" jsonschema:"import path, or scratch"`
	Values    []value        `json:"values" jsonschema:"of the last expression, or of the variables that the form declares"`
	Stdout    string         `json:"stdout,omitempty"`
	Stderr    string         `json:"stderr,omitempty"`
	Declared  []string       `json:"declared" jsonschema:"the names that the form added to the session"`
	Forgotten []string       `json:"forgotten,omitempty" jsonschema:"the names that reset removed from the session"`
	Errors    []form.Problem `json:"errors" jsonschema:"why the form does not compile"`
	Kind      string         `json:"kind,omitempty" jsonschema:"how it failed: compile, panic, exit, time, memory, processes or other"`
	Message   string         `json:"message,omitempty" jsonschema:"what went wrong"`
	Stack     string         `json:"stack,omitempty" jsonschema:"of a panic, a fatal error or a program whose time was over: goroutines of the form and the workspace"`
	Note      string         `json:"note,omitempty" jsonschema:"what may not be as expected: what is not kept, hidden or replaced, or evaluated elsewhere"`
}

type value struct {
	Name    string `json:"name,omitempty" jsonschema:"of the variable"`
	Type    string `json:"type" jsonschema:"as the compiler sees it"`
	Dynamic string `json:"dynamic_type,omitempty" jsonschema:"of the value in an interface"`
	Value   string `json:"value" jsonschema:"in Go syntax"`
	Text    string `json:"text,omitempty" jsonschema:"what its String or Error method returns"`
}

func evalForm(e *evaluator) tool.Tool {
	return readable.Func("eval_form", evalDescription, func(ctx context.Context, in formIn) (evaluation, error) {
		out := evaluation{Values: []value{}, Declared: []string{}, Errors: []form.Problem{}}
		err := e.record(ctx, "eval_form", in, func(ctx context.Context, j *job) (outcome, error) {
			err := out.evaluate(ctx, e, j, in)
			out.Form, out.Package = j.number, j.pkg("")
			if err != nil {
				var other error
				if out.Kind, out.Errors, other = classify(err); other != nil {
					return outcome{}, other
				}
				out.Message = err.Error()
			}
			out.OK = out.Kind == ""
			return outcome{ok: out.OK, kind: out.Kind, message: out.Message, stack: out.Stack, result: out.Text()}, nil
		})
		return out, err
	}, formOptions("Evaluate Go")...)
}

func (out *evaluation) evaluate(ctx context.Context, e *evaluator, j *job, in formIn) error {
	var path string
	err := j.compile(ctx, in, func(c *compile.Compilation) (err error) {
		if c.Runs() {
			path, err = c.Build(ctx)
			return err
		}
		if c.Form.IsEmpty() {
			return nil
		}
		return c.CompileOnly(ctx)
	})
	c := j.compilation
	out.Note = j.notes()
	if err != nil {
		return err
	}
	if path == "" {
		return out.keep(j)
	}
	r, err := e.runner.run(ctx, path, j.temp)
	if err != nil {
		return err
	}
	out.Stdout, out.Stderr = r.stdout, r.stderr
	out.addNote(r.note)
	out.Kind, out.Message = r.kind, r.message
	if r.stack != "" {
		scrub := c.Scrub(ctx)
		out.Message = truncate.Counted(program.Plain(scrub(r.message)), form.MaxMessage)
		out.Stack = truncate.Counted(program.Plain(scrub(r.stack)), session.MaxStack)
	}
	out.addValues(&c.Program, c.Types, r.report.Values)
	if !r.report.Began { // an initializer ended the program
		return nil
	}
	return out.keep(j)
}

func (out *evaluation) addNote(text string) {
	out.Note = strings.TrimPrefix(out.Note+"\n"+text, "\n")
	out.Note = strings.TrimSuffix(out.Note, "\n")
}

// noSession is told to callers whose declarations are lost.
const noSession = "the call does not belong to a session, so nothing is kept"

// keep keeps the form's declarations in the session.
func (out *evaluation) keep(j *job) error {
	told := len(j.compilation.Notes)
	if err := j.compilation.Keep(); err != nil {
		return err
	}
	if !j.anonymous {
		out.addNote(strings.Join(j.compilation.Notes[told:], "\n"))
	}
	out.Declared, out.Forgotten = j.compilation.Declared(), j.compilation.Forgotten
	if j.anonymous && j.compilation.Declares() {
		out.Declared = []string{}
		out.addNote(noSession)
	}
	return nil
}

// addValues joins what the program printed of its values with their types.
func (out *evaluation) addValues(p *program.Program, types []check.Type, values []program.Value) {
	const longest = program.MaxValue + 64 // with the program's own note about missing bytes
	for i, shown := range values {
		v := value{
			Type:  shown.Type,
			Value: truncate.Counted(shown.Syntax, longest),
			Text:  truncate.Counted(shown.Text, longest),
		}
		if i < len(types) {
			static := types[i]
			v.Type = static.Name
			if static.IsInterface && shown.Type != "<nil>" {
				v.Dynamic = shown.Type
			}
		}
		if p.Body == nil && i < len(p.Values) {
			v.Name = p.Values[i]
		}
		if p.Body != nil && p.Body.IsNil {
			v.Type = "untyped nil"
		}
		if v.Value == "<nil>" {
			v.Value = "nil"
		}
		out.Values = append(out.Values, v)
	}
}

// Failed reports whether the form failed.
func (out evaluation) Failed() bool { return !out.OK }

// Text returns the result for a reader.
func (out evaluation) Text() string {
	var b strings.Builder
	if out.Kind == "compile" {
		b.WriteString("the form does not compile:\n")
	}
	if !out.OK {
		b.WriteString(out.Message + "\n")
	}
	for _, v := range out.Values {
		b.WriteString(v.String() + "\n")
	}
	if len(out.Declared) > 0 {
		fmt.Fprintf(&b, "declared: %s\n", strings.Join(out.Declared, ", "))
	}
	if len(out.Forgotten) > 0 {
		fmt.Fprintf(&b, "forgotten: %s\n", strings.Join(out.Forgotten, ", "))
	}
	for _, part := range []struct{ name, text string }{
		{"stdout", out.Stdout}, {"stderr", out.Stderr}, {"stack", out.Stack}, {"note", out.Note},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", part.name, strings.TrimSuffix(part.text, "\n"))
		}
	}
	if b.Len() == 0 {
		return "ok"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (v value) String() string {
	text := v.Value + " (" + v.Type + ")"
	if v.Dynamic != "" {
		text = v.Value + " (" + v.Type + ", holding " + v.Dynamic + ")"
	}
	if v.Name != "" {
		text = v.Name + " = " + text
	}
	if v.Text != "" {
		text += "\n  prints as " + v.Text
	}
	return text
}
