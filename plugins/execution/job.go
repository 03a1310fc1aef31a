package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// formIn is the input of a tool that takes a form.
type formIn struct {
	Form    string   `json:"form" jsonschema:"an expression, statements, declarations, or declarations followed by statements; the standard library needs no import; may be empty with reset"`
	Package string   `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name to evaluate in, or scratch for an empty package; default: the package at the root, else scratch"`
	Reset   []string `json:"reset,omitempty" jsonschema:"names that the session has declared in the package, to forget before the form; * forgets all"`
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
		pluginsdk.Argument("form", `{"maxLength": 262144}`), // characters; form.MaxSize counts bytes
		pluginsdk.Argument("package", `{"maxLength": 512}`),
		pluginsdk.Argument("reset", `{"type": "array", "maxItems": 256}`),
	}
}

// job is a form that a tool works on.
type job struct {
	compilation *compile.Compilation
	start       func() *compile.Compilation // begins another one
	finder      *target.Finder
	temp        string // a directory for it alone
	number      int    // of the form in the session
	anonymous   bool   // the call has no session
}

// compile compiles a form and lets finish do the rest. If the caller names no package, and
// the one at the root does not compile, an empty one takes its place.
func (j *job) compile(ctx context.Context, in formIn, finish func(*compile.Compilation) error) error {
	request := compile.Request{Form: in.Form, Package: in.Package, Reset: in.Reset}
	try := func() error {
		err := j.compilation.Check(ctx, request)
		if err == nil {
			err = finish(j.compilation)
		}
		return err
	}
	err := try()
	isDefault := in.Package == "" || in.Package == target.Scratch
	for _, module := range []bool{true, false} {
		var broken *compile.BrokenError
		if !errors.As(err, &broken) || !isDefault || module && broken.Path == "" {
			continue
		}
		instead, other := j.finder.Fallback(j.temp, module)
		if other != nil {
			return other
		}
		instead.Note = "the form is evaluated in a scratch package: " + truncate.Counted(broken.Error(), maxBroken)
		if !module {
			instead.Note = "the form is evaluated in a scratch package that has the standard library only: " +
				truncate.Counted(broken.Error(), maxBroken)
		}
		j.compilation, request.Instead = j.start(), instead
		err = try()
	}
	return err
}

// maxBroken bounds what is told of a package that does not compile, in bytes.
const maxBroken = 1 << 10

// notes returns what a caller may not expect of the form.
func (j *job) notes() string { return strings.Join(j.compilation.Notes, "\n") }

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
