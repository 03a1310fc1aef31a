package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const compileDescription = `Type-checks and vets Go in the scope of a package of the workspace, unexported names included, without running it. It takes what eval_form takes.

Errors, and warnings of go vet, have line and column in the form. Declarations at the beginning of a form that compiles are kept for the session, in that package.`

// compilation is the result of compile_form.
type compilation struct {
	OK        bool           `json:"ok" jsonschema:"it compiles; there may be warnings"`
	Form      int            `json:"form" jsonschema:"number of the form in the session"`
	Package   string         `json:"package,omitempty" jsonschema:"import path, or scratch"`
	Errors    []form.Problem `json:"errors"`
	Warnings  []form.Problem `json:"warnings" jsonschema:"of go vet"`
	Kept      bool           `json:"kept" jsonschema:"the form's declarations were added to the session"`
	Declared  []string       `json:"declared" jsonschema:"the names that were added"`
	Types     []string       `json:"types" jsonschema:"of the values that the form would return"`
	Message   string         `json:"message,omitempty" jsonschema:"what went wrong"`
	Forgotten []string       `json:"forgotten,omitempty" jsonschema:"the names that reset removed from the session"`
	Note      string         `json:"note,omitempty" jsonschema:"what may not be as expected: what is not kept, hidden or replaced, or compiled elsewhere"`
}

func compileForm(e *evaluator) tool.Tool {
	return readable.Func("compile_form", compileDescription, func(ctx context.Context, in formIn) (compilation, error) {
		out := compilation{Errors: []form.Problem{}, Warnings: []form.Problem{}, Declared: []string{}, Types: []string{}}
		err := e.record(ctx, "compile_form", in, func(ctx context.Context, j *job) (outcome, error) {
			err := out.compile(ctx, j, in)
			out.Form, out.Package, out.OK = j.number, j.pkg(""), err == nil
			var kind string
			if err != nil {
				var other error
				if kind, out.Errors, other = classify(err); other != nil {
					return outcome{}, other
				}
				out.Message = err.Error()
			}
			return outcome{ok: out.OK, kind: kind, message: out.Message, result: out.Text()}, nil
		})
		return out, err
	}, formOptions("Compile Go")...)
}

func (out *compilation) compile(ctx context.Context, j *job, in formIn) error {
	err := j.compile(ctx, in, func(c *compile.Compilation) error {
		if c.Form.IsEmpty() {
			return nil
		}
		warnings, err := c.Vet(ctx)
		if err == nil {
			out.Warnings = warnings
		}
		return err
	})
	c := j.compilation
	out.Note = j.notes()
	if err != nil {
		return err
	}
	if c.Form.Body != nil {
		for _, t := range c.Types {
			out.Types = append(out.Types, t.Name)
		}
	}
	if !c.Declares() || j.anonymous {
		return nil
	}
	if err := c.Keep(); err != nil {
		return err
	}
	out.Note = j.notes()
	out.Kept, out.Declared, out.Forgotten = true, c.Declared(), c.Forgotten
	return nil
}

// Failed reports whether the form failed.
func (out compilation) Failed() bool { return !out.OK }

// Text returns the result for a reader.
func (out compilation) Text() string {
	var b strings.Builder
	switch {
	case out.OK:
		b.WriteString("it compiles")
	case len(out.Errors) > 0:
		b.WriteString("the form does not compile:")
	default:
		b.WriteString(out.Message)
	}
	for _, p := range out.Errors {
		b.WriteString("\n" + p.String())
	}
	for _, p := range out.Warnings {
		b.WriteString("\nwarning: " + p.String())
	}
	if len(out.Types) > 0 {
		fmt.Fprintf(&b, "\ntype: %s", strings.Join(out.Types, ", "))
	}
	if out.Kept && len(out.Declared) > 0 {
		fmt.Fprintf(&b, "\nkept: %s", strings.Join(out.Declared, ", "))
	}
	if len(out.Forgotten) > 0 {
		fmt.Fprintf(&b, "\nforgotten: %s", strings.Join(out.Forgotten, ", "))
	}
	if out.Note != "" {
		b.WriteString("\nnote: " + out.Note)
	}
	return b.String()
}
