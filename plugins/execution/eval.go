package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type formIn struct {
	Form    string `json:"form" jsonschema:"Go: an expression, statements, declarations, or declarations followed by statements; packages of the standard library need no import"`
	Package string `json:"package,omitempty" jsonschema:"the package to evaluate in: an import path, a directory relative to the workspace (./host) or a package name; default: the package at the workspace root, else a scratch package"`
}

// evaluation is what eval_form answers.
type evaluation struct {
	OK       bool      `json:"ok"`
	Form     int       `json:"form" jsonschema:"number of the form in the session"`
	Package  string    `json:"package,omitempty" jsonschema:"import path, or scratch"`
	Values   []value   `json:"values" jsonschema:"of the last expression, or of the variables that the form declares"`
	Stdout   string    `json:"stdout,omitempty"`
	Stderr   string    `json:"stderr,omitempty"`
	Declared []string  `json:"declared" jsonschema:"what the session has from now on"`
	Errors   []problem `json:"errors" jsonschema:"why the form does not compile"`
	Kind     string    `json:"kind,omitempty" jsonschema:"how it failed: compile, panic, exit, time, memory, processes or other"`
	Message  string    `json:"message,omitempty" jsonschema:"what went wrong"`
	Stack    string    `json:"stack,omitempty" jsonschema:"of a panic or a fatal error"`
	Note     string    `json:"note,omitempty"`
}

type value struct {
	Name    string `json:"name,omitempty" jsonschema:"of the variable"`
	Type    string `json:"type" jsonschema:"as the compiler sees it"`
	Dynamic string `json:"dynamic_type,omitempty" jsonschema:"of what an interface holds"`
	Value   string `json:"value" jsonschema:"in Go syntax"`
	Text    string `json:"text,omitempty" jsonschema:"what its String or Error method says"`
}

// patience is how long a call may take: with a cold build cache, the go command
// compiles everything that the package imports. How long the program may run is one
// of the [limits].
const patience = 5 * time.Minute

// formLimit counts characters; [maxForm] counts bytes.
const formLimit = `{"minLength": 1, "maxLength": 262144}`

const evalDescription = `Evaluates Go with the real toolchain in the scope of a package of the workspace, unexported names included.

An expression gives its values and types. Statements run; if the last is an expression, its values come back. Declarations (func, type, var, const, import) at the beginning of a form last for the session, in that package: declaring a name again replaces it, and what would break earlier declarations is refused. Each form is a program of its own: variables start anew from their initializers, and x := 1 is gone after its form. Packages of the standard library are imported by themselves.

Each program has its time, memory, processes and output bounded, and an empty standard input; when it ends, so does all that it started. Nothing is written into the workspace, except by the form itself.`

func (e *evaluator) evalForm() tool.Tool {
	return reporting(pluginsdk.Func("eval_form", evalDescription, e.eval,
		pluginsdk.Title("Evaluate Go"), pluginsdk.Cautious(), pluginsdk.Categories("execution"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Timeout(patience),
		pluginsdk.Argument("form", formLimit), pluginsdk.Argument("package", `{"maxLength": 512}`)))
}

func (e *evaluator) eval(ctx context.Context, in formIn) (evaluation, error) {
	out := evaluation{Values: []value{}, Declared: []string{}, Errors: []problem{}}
	err := e.onRecord(ctx, "eval_form", in, func(ctx context.Context, a *attempt) (outcome, error) {
		out.Form = a.session.forms
		err := a.evaluate(ctx, in, &out)
		if a.target != nil {
			out.Package = a.target.name
		}
		if err := out.blame(err); err != nil {
			return outcome{}, err
		}
		return outcome{ok: out.OK, kind: out.Kind, message: out.Message, stack: out.Stack, result: out.String()}, nil
	})
	return out, err
}

// noSession is told to those whose declarations are lost.
const noSession = "the call belongs to no session, so nothing is kept"

// blame takes up an error that is the form's or the program's; others stay.
func (out *evaluation) blame(err error) error {
	var found *problems
	var coded *tool.Error
	switch {
	case err == nil:
		out.OK = out.Kind == ""
	case errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &found):
		out.Kind, out.Errors, out.Message = "compile", found.list, found.Error()
	default:
		out.Kind, out.Message = "other", err.Error()
	}
	return nil
}

func (a *attempt) evaluate(ctx context.Context, in formIn, out *evaluation) error {
	if err := a.prepare(ctx, in.Form, in.Package); err != nil {
		return err
	}
	runs := a.form.body != nil || a.program.mains || slices.ContainsFunc(a.form.units, func(u *unit) bool { return u.runs })
	if !runs {
		if err := a.compileOnly(ctx); err != nil {
			return err
		}
		return a.declared(out)
	}
	program, err := a.build(ctx)
	if err != nil {
		return err
	}
	told, err := a.run(ctx, program, out)
	if err != nil {
		return err
	}
	a.values(told, out)
	if told.began { // what comes before is what the declarations do
		return a.declared(out)
	}
	return nil
}

// declared keeps the form's declarations.
func (a *attempt) declared(out *evaluation) error {
	if err := a.keep(); err != nil {
		return err
	}
	out.Declared = a.declares()
	if a.anonymous && a.changes() {
		out.Declared, out.Note = []string{}, noSession
	}
	return nil
}

// values joins what the compiler knows of the values with what the program printed.
func (a *attempt) values(told report, out *evaluation) {
	for i, s := range told.values {
		v := value{Type: s.dynamic, Value: cut(s.syntax, maxValue+64), Text: cut(s.text, maxValue+64)}
		if i < len(a.check.values) {
			v.Type = a.check.values[i].name
			if a.check.values[i].isInterface && s.dynamic != "<nil>" {
				v.Dynamic = s.dynamic
			}
		}
		if a.form.body == nil && i < len(a.program.values) {
			v.Name = a.program.values[i]
		}
		if a.form.body != nil && a.form.body.isNil {
			v.Type = "untyped nil"
		}
		if v.Value == "<nil>" {
			v.Value = "nil"
		}
		out.Values = append(out.Values, v)
	}
}

// run runs the program within the limits and says how it ended.
func (a *attempt) run(ctx context.Context, program string, out *evaluation) (report, error) {
	temp, told := a.private+"/tmp", a.private+"/report"
	for _, dir := range []string{temp, told} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return report{}, err
		}
	}
	dir, err := os.OpenRoot(told) // before the program can put something else there
	if err != nil {
		return report{}, err
	}
	defer func() { _ = dir.Close() }()
	stdout, stderr := &capped{limit: a.limits.Output}, &capped{limit: a.limits.Output}
	limit := time.Duration(a.limits.Time)
	if deadline, ok := ctx.Deadline(); ok { // better a result that says so than no result
		limit = max(time.Millisecond, min(limit, time.Until(deadline)-reserve))
	}
	p := &process{
		path: program, dir: a.root, stdout: stdout, stderr: stderr,
		env:    []string{"TMPDIR=" + temp, reportVariable + "=" + told},
		order:  launchOrder{CPU: uint64(limit.Seconds()*cores()) + 1, Data: uint64(a.limits.Memory) + slack, File: maxFile},
		time:   limit,
		memory: a.limits.Memory, processes: a.limits.Processes, namespaces: a.namespaces,
	}
	state, why, err := p.run(ctx)
	if err != nil {
		return report{}, err
	}
	said := readReport(dir)
	scrub := a.scrub(ctx, a.target.toolchain)
	out.Stdout, out.Stderr = stdout.String(), stderr.String()
	switch c, crashed := crashOf(said.crash, stderr.String()); {
	case why != "":
		out.Kind, out.Message = string(why), a.excess(why, limit)
	case state.Success() && !said.ended:
		out.Note = "the program ended itself with status 0 before the form was done"
	case state.Success():
	case crashed:
		out.Kind, out.Message, out.Stack = "panic", cut(scrub(c.message), maxMessage), cut(scrub(c.stack), maxStack)
	default:
		out.Kind, out.Message = "exit", "the program ended with "+state.String()
	}
	return said, nil
}

// Reserves: of time for the answer, and of memory for what a Go program maps without
// using it.
const (
	reserve = 250 * time.Millisecond
	slack   = 64 << 20
)

func (a *attempt) excess(why excess, limit time.Duration) string {
	switch why {
	case tooLong:
		return fmt.Sprintf("the program was ended, with all that it started: it had not ended after %s", limit.Round(time.Millisecond))
	case tooLarge:
		return fmt.Sprintf("the program was ended, with all that it started: it held more than %d bytes of memory", a.limits.Memory)
	default:
		return fmt.Sprintf("the program was ended, with all that it started: it had more than %d processes", a.limits.Processes)
	}
}

// String is the answer for a reader.
func (out evaluation) String() string {
	var b strings.Builder
	if !out.OK {
		fmt.Fprintf(&b, "%s\n", failureLine(out.Kind, out.Message))
	}
	for _, v := range out.Values {
		b.WriteString(v.String() + "\n")
	}
	if len(out.Declared) > 0 {
		fmt.Fprintf(&b, "declared: %s\n", strings.Join(out.Declared, ", "))
	}
	for _, part := range []struct{ name, text string }{{"stdout", out.Stdout}, {"stderr", out.Stderr}, {"stack", out.Stack}, {"note", out.Note}} {
		if part.name == "stderr" && out.Stack != "" {
			continue // it says the same
		}
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

func failureLine(kind, message string) string {
	if kind == "compile" {
		return "the form does not compile:\n" + message
	}
	return message
}
