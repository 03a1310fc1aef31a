package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const compileDescription = `Type-checks and vets Go in the scope of a package of the workspace, unexported names included, without running it.

It takes what eval_form takes. Errors, and warnings of go vet, have line and column in the form. Declarations at the beginning of a form that compiles are kept for the session, in that package.`

// compilation is the result of compile_form.
type compilation struct {
	OK       bool           `json:"ok" jsonschema:"it compiles; there may be warnings"`
	Form     int            `json:"form" jsonschema:"number of the form in the session"`
	Package  string         `json:"package,omitempty" jsonschema:"import path, or scratch"`
	Errors   []form.Problem `json:"errors"`
	Warnings []form.Problem `json:"warnings" jsonschema:"of go vet"`
	Kept     bool           `json:"kept" jsonschema:"the form's declarations were added to the session"`
	Declared []string       `json:"declared" jsonschema:"the names that were added"`
	Types    []string       `json:"types" jsonschema:"of the values that the form would return"`
	Message  string         `json:"message,omitempty" jsonschema:"what went wrong"`
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
	c := j.compilation
	if err := c.Check(ctx, in.Form, in.Package); err != nil {
		return err
	}
	if c.Form.Body != nil {
		for _, t := range c.Types {
			out.Types = append(out.Types, t.Name)
		}
	}
	warnings, err := c.Vet(ctx)
	if err != nil {
		return err
	}
	out.Warnings = warnings
	if !c.Declares() || j.anonymous {
		return nil
	}
	if err := c.Keep(); err != nil {
		return err
	}
	out.Kept, out.Declared = true, c.Declared()
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
	return b.String()
}
