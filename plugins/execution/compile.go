package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// compilation is what compile_form answers.
type compilation struct {
	OK       bool      `json:"ok" jsonschema:"it compiles; there may be warnings"`
	Form     int       `json:"form" jsonschema:"number of the form in the session"`
	Package  string    `json:"package,omitempty" jsonschema:"import path, or scratch"`
	Errors   []problem `json:"errors"`
	Warnings []problem `json:"warnings" jsonschema:"of go vet"`
	Kept     bool      `json:"kept" jsonschema:"the session has its declarations from now on"`
	Declared []string  `json:"declared" jsonschema:"the names that are kept"`
	Types    []string  `json:"types" jsonschema:"of the values that the form would give"`
	Message  string    `json:"message,omitempty" jsonschema:"what went wrong"`
}

const compileDescription = `Type-checks and vets Go in the scope of a package of the workspace, unexported names included, without running it.

Takes what eval_form takes. Errors and the warnings of go vet come with line and column in the form. Declarations at the beginning of a form that compiles are kept for the session, in that package.`

func (e *evaluator) compileForm() tool.Tool {
	return reporting(pluginsdk.Func("compile_form", compileDescription, e.compile,
		pluginsdk.Title("Compile Go"), pluginsdk.Cautious(), pluginsdk.Categories("execution"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Timeout(patience),
		pluginsdk.Argument("form", formLimit), pluginsdk.Argument("package", `{"maxLength": 512}`)))
}

func (e *evaluator) compile(ctx context.Context, in formIn) (compilation, error) {
	out := compilation{Errors: []problem{}, Warnings: []problem{}, Declared: []string{}, Types: []string{}}
	err := e.onRecord(ctx, "compile_form", in, func(ctx context.Context, a *attempt) (outcome, error) {
		out.Form = a.session.forms
		err := a.judge(ctx, in, &out)
		if a.target != nil {
			out.Package = a.target.name
		}
		kind := "compile"
		var found *problems
		var coded *tool.Error
		switch {
		case err == nil:
			out.OK = true
		case errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return outcome{}, err
		case errors.As(err, &found):
			out.Errors = found.list
		default:
			kind = "other"
		}
		if err != nil {
			out.Message = err.Error()
		}
		return outcome{ok: out.OK, kind: kind, message: out.Message, result: out.String()}, nil
	})
	return out, err
}

func (a *attempt) judge(ctx context.Context, in formIn, out *compilation) error {
	if err := a.prepare(ctx, in.Form, in.Package); err != nil {
		return err
	}
	if a.form.body != nil {
		for _, v := range a.check.values {
			out.Types = append(out.Types, v.name)
		}
	}
	warnings, err := a.vet(ctx)
	if err != nil {
		return err
	}
	out.Warnings = warnings
	if !a.changes() || a.anonymous {
		return nil
	}
	if err := a.keep(); err != nil {
		return err
	}
	out.Kept, out.Declared = true, a.declares()
	return nil
}

// String is the answer for a reader.
func (out compilation) String() string {
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
