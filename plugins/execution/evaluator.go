package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/execution/internal/tempdir"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// evaluator is the plugin: the workspace, what bounds programs, and who has
// called. It is safe for concurrent use once it is configured.
type evaluator struct {
	root     string // absolute, without symbolic links
	limits   limits
	compiler *compile.Compiler
	sessions session.Sessions
	slots    chan struct{} // holds one element for each form that is compiled or run

	namespaces []confine.Namespaces // see [process.Process]; tests set it
}

func newEvaluator() *evaluator {
	return &evaluator{limits: defaultLimits(), compiler: compile.New(""), slots: make(chan struct{}, max(2, runtime.NumCPU()))}
}

// configure sets the root and the limits. It resolves links in the root, because
// the go command reports resolved paths.
func (e *evaluator) configure(c pluginsdk.Config) error {
	l, err := parseLimits(c.JSON)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(c.Root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	if !info.IsDir() {
		return errors.New("the workspace is not a directory; name one with the host's --root")
	}
	e.root, e.limits, e.compiler = root, l, compile.New(root)
	tempdir.Sweep(os.TempDir())
	return nil
}

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

// record lets do work on the next form of the calling session, after the session's
// other forms, and records the outcome in the session.
func (e *evaluator) record(ctx context.Context, name string, in formIn, do func(context.Context, *job) (outcome, error)) error {
	call := pluginsdk.CallFrom(ctx)
	s := e.sessions.Get(call.Session)
	unlock, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	select {
	case e.slots <- struct{}{}: // compiling and running take whole processors
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	temp, remove, err := tempdir.New()
	if err != nil {
		return err
	}
	defer remove()
	s.Forms++
	start := time.Now()
	j := &job{compilation: e.compiler.Start(s, temp), temp: temp, number: s.Forms, anonymous: call.Session == ""}
	done, err := do(ctx, j)
	if err != nil {
		done = outcome{kind: "other", message: err.Error(), result: err.Error()}
	}
	pkg, began := j.pkg(in.Package), start.UTC().Format(time.RFC3339)
	s.Add(session.Entry{
		Number: j.number, Tool: name, Package: pkg, Form: in.Form, OK: done.ok, Result: done.result,
		Time: began, Took: time.Since(start).Round(time.Millisecond).String(),
	})
	if !done.ok {
		s.Fail(session.Failure{
			Number: j.number, Tool: name, Package: pkg, Form: in.Form,
			Kind: done.kind, Message: done.message, Stack: done.stack, Time: began,
		})
	}
	return err
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
