package main

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// formIn is the input of a tool that takes a form.
type formIn struct {
	Form    string `json:"form" jsonschema:"Go: an expression, statements, declarations, or declarations followed by statements; packages of the standard library need no import"`
	Package string `json:"package,omitempty" jsonschema:"the package to evaluate in: an import path, a directory relative to the workspace (./host) or a package name; default: the package at the workspace root, else a scratch package"`
}

// callTimeout is how long a call may take: with a cold build cache, the go command
// compiles everything that the package imports. How long the program may run is
// one of the [limits].
const callTimeout = 5 * time.Minute

// formOptions returns the options of a tool that takes a form.
func formOptions(title string) []pluginsdk.Option {
	return []pluginsdk.Option{
		pluginsdk.Title(title), pluginsdk.Cautious(), pluginsdk.Categories("execution"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Timeout(callTimeout),
		pluginsdk.Argument("form", `{"minLength": 1, "maxLength": 262144}`), // characters; form.MaxSize counts bytes
		pluginsdk.Argument("package", `{"maxLength": 512}`),
	}
}

// job is a form that a tool works on.
type job struct {
	compilation *compile.Compilation
	temp        string // a directory for it alone
	number      int    // of the form in the session
	anonymous   bool   // the call has no session
}

// pkg returns the package of the form, or what the caller named if it was not found.
func (j *job) pkg(named string) string {
	if j.compilation.Target != nil {
		return j.compilation.Target.Path
	}
	return named
}

// outcome is what the session remembers of a form.
type outcome struct {
	ok                           bool
	kind, message, stack, result string
}

// classify returns how a form failed. It returns the error itself if the form is
// not to blame.
func classify(err error) (kind string, problems []form.Problem, other error) {
	var found form.Problems
	var coded *tool.Error
	switch {
	case errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", nil, err
	case errors.As(err, &found):
		return "compile", found, nil
	}
	return "other", []form.Problem{}, nil
}
