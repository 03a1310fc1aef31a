package compile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/execution/internal/check"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
)

// Compilation is one form that is compiled. [Compilation.Check] comes first.
type Compilation struct {
	Form      *form.Form
	Target    *target.Target // nil if it was not found
	Program   program.Program
	Types     []check.Type // of the values that the form shows
	Forgotten []string     // names that the session will not have any more
	Notes     []string     // what a caller may not expect of the form

	compiler *Compiler
	session  *session.Session
	temp     string
	graph    *gocmd.Graph
	scope    *session.Scope  // what the session has declared if all goes well
	imported []string        // names of the form's imports
	names    map[string]bool // that the session has declared then
	kept     []string        // notes on what the session keeps
	tests    *check.Tests    // that are compiled with the package; nil: none
	replaced []check.Replaced
	files    map[string]string // the package's own files that are compiled in another way
}

// Request is what to compile.
type Request struct {
	Form    string
	Package string
	// Reset are names that the session has declared and that are to be forgotten. [Everything]
	// means all.
	Reset []string
	// Instead is the package to use in place of the one that is named; nil: that one.
	Instead *target.Target
}

// Everything in [Request.Reset] means all names.
const Everything = "*"

// Check parses a form, finds its package, and type-checks the two together.
//
// # Errors
//
// [form.Problems] if the form does not compile, and [*BrokenError] if the package does not.
func (c *Compilation) Check(ctx context.Context, r Request) error {
	err := c.check(ctx, r)
	var found form.Problems
	if !errors.As(err, &found) || c.graph == nil || c.Target.IsEmpty() || c.tests != nil || !c.meansTests(found) {
		return err
	}
	with := c.compiler.Start(c.session, c.temp)
	tests := check.FindTests(c.graph, c.Target.Path)
	with.tests = &tests
	again := with.check(ctx, r)
	if again != nil && !errors.As(again, &found) {
		return err // the tests do not compile
	}
	*c = *with
	c.note("the package's test files are compiled with it, for what they declare")
	return again
}

var word = lazy.Regexp(`[\pL_][\pL\pN_]*`)

// meansTests reports whether problems name something that only the package's tests declare
// or import.
func (c *Compilation) meansTests(problems form.Problems) bool {
	unknown := func(p form.Problem) bool {
		return strings.Contains(p.Message, "undefined") || strings.Contains(p.Message, "missing method")
	}
	if !slices.ContainsFunc(problems, unknown) {
		return false
	}
	tests := check.FindTests(c.graph, c.Target.Path)
	for _, p := range problems {
		for _, w := range word().FindAllString(p.Message, -1) {
			if tests.Names[w] {
				return true
			}
		}
	}
	return false
}

func (c *Compilation) check(ctx context.Context, r Request) error {
	var err error
	if c.Form, err = form.Parse(r.Form, c.session.Forms); err != nil {
		return err
	}
	if c.Form.IsEmpty() && len(r.Reset) == 0 {
		return errors.New("the form is empty; write an expression, statements or declarations")
	}
	if c.Target = r.Instead; c.Target == nil {
		if c.Target, err = c.compiler.Finder.Find(ctx, r.Package, c.temp); err != nil {
			return broken(err, c.compiler.Scrubber.For(ctx, gocmd.Command{Dir: string(c.compiler.Finder.Root), Temp: c.temp}))
		}
	}
	if c.Target.OnlyTests && c.tests == nil {
		if err := c.load(ctx, c.session.Scope(c.Target.Path), nil); err != nil {
			return broken(err, c.Scrub(ctx))
		}
		tests := check.FindTests(c.graph, c.Target.Path)
		c.tests = &tests
	}
	if c.Target.Note != "" {
		c.Notes = append(c.Notes, c.Target.Note)
	}
	old, err := c.forget(r.Reset)
	if err != nil {
		return err
	}
	if err := c.load(ctx, old, nil); err != nil {
		return broken(err, c.Scrub(ctx))
	}
	checker, err := check.NewChecker(c.graph, c.Target, c.tests != nil)
	if err != nil {
		return &BrokenError{c.Target.Path, c.Scrub(ctx)(err.Error())}
	}
	if err := c.resolve(ctx, checker, old); err != nil {
		return err
	}
	return c.checkTypes(ctx, checker)
}

// load lists the target and all that is imported. Needed are further packages.
func (c *Compilation) load(ctx context.Context, old *session.Scope, needed map[string]bool) error {
	imports := old.Paths()
	maps.Copy(imports, needed)
	if c.tests != nil {
		maps.Copy(imports, c.tests.Imports)
	}
	for _, imp := range c.Form.Imports {
		imports[imp.Path] = true
	}
	delete(imports, c.Target.Path) // it cannot import itself; see resolve
	g, err := c.compiler.cache.Load(ctx, c.Target.Go, c.Target.Pattern, imports)
	if err != nil {
		return err
	}
	c.graph = g
	var problems form.Problems
	for _, imp := range c.Form.Imports {
		if imp.Path == c.Target.Path {
			continue
		}
		at := form.Problem{Line: imp.Position.Line, Column: imp.Position.Column}
		if err := g.ImportError(imp.Path); err != nil {
			at.Message = err.Error()
			problems.Add(at)
		} else if cycle := g.Cycle(imp.Path, c.Target.Path); cycle != nil {
			at.Message = cycleText(cycle)
			problems.Add(at)
		}
	}
	return problems.Err()
}

func cycleText(cycle []string) string {
	return fmt.Sprintf("import cycle: %s, where the form is evaluated; "+
		"to use both, evaluate it elsewhere: package: %q", strings.Join(cycle, " imports "), target.Scratch)
}

func (c *Compilation) setProgram(declarations []*form.Declaration) {
	p := &c.Program
	p.Package, p.IsMain, p.Empty = c.Target.Name, c.Target.Name == "main", c.Target.IsEmpty()
	p.Language = c.Target.Language
	p.Form, p.Declarations, p.Body, p.Blank, p.Show = c.Form.Number, declarations, c.Form.Body, c.scope.Blank, true
	for _, d := range c.Form.Declarations {
		p.RunMain = p.RunMain || d.IsMain()
		if d.Runs {
			p.Values = append(p.Values, d.Values...)
		}
	}
	// The form's main function is there to run now, not to be called later.
	c.scope.Declarations = slices.DeleteFunc(slices.Clone(declarations), func(d *form.Declaration) bool {
		return d.IsMain() && d.Form == c.Form.Number
	})
}

// checkTypes type-checks the package with the program.
func (c *Compilation) checkTypes(ctx context.Context, checker *check.Checker) error {
	result, err := checker.Check(c.graph, c.Program.Files(), c.Form.Number)
	if err == nil && result.Void {
		c.Program.Show = false // a call without results is a statement
		result, err = checker.Check(c.graph, c.Program.Files(), c.Form.Number)
	}
	if err != nil {
		return err
	}
	c.Types = result.Types
	if len(result.Own) == 0 && len(result.Problems) == 0 {
		return nil
	}
	scrub := c.Scrub(ctx)
	if own := result.Own; len(own) > 0 {
		return c.ownProblem(scrub(strings.Join(own[:min(len(own), form.MaxProblems)], "\n")), scrub)
	}
	c.explain(result.Problems, scrub)
	return result.Problems
}

// ownProblem returns the error for problems in the package itself: of the declarations that
// stand in for its own, if there are some.
func (c *Compilation) ownProblem(text string, scrub func(string) string) error {
	if len(c.replaced) == 0 {
		return &BrokenError{c.Target.Path, text}
	}
	var names []string
	for _, r := range c.replaced {
		names = append(names, fmt.Sprintf("%s (%s)", r.Name, scrub(r.At)))
	}
	at := form.Problem{Message: fmt.Sprintf(
		"package %s does not compile with the session's own %s in place of the package's:\n%s",
		c.Target.Path, strings.Join(names, ", "), text)}
	for _, d := range c.Form.Declarations {
		if slices.ContainsFunc(c.replaced, func(r check.Replaced) bool { return slices.Contains(d.Names, r.Name) }) {
			at.Line, at.Column = d.Position.Line, d.Position.Column
			break
		}
	}
	return form.Problems{at}
}

// explain adds to the compiler's messages what it cannot know: that a name may be
// a package's, and that a declaration was kept from an earlier form.
func (c *Compilation) explain(problems form.Problems, scrub func(string) string) {
	for i := range problems {
		p := &problems[i]
		p.Message = program.Plain(scrub(p.Message))
		name, undefined := strings.CutPrefix(p.Message, "undefined: ")
		switch {
		case undefined && c.Form.Selects(name):
			p.Message += fmt.Sprintf(" (if %s is a package, import it in the form: import \"path/of/%s\")", name, name)
		case undefined && len(c.Target.Given) > 0:
			for given := range c.Target.Given {
				p.Message += fmt.Sprintf(" (if it is of package %s, write %s.%s)", given, given, name)
			}
		case strings.HasSuffix(p.Message, "(overflows)"):
			p.Message += "; convert it, as in uint64(x) or float64(x)"
		}
		if p.Form > 0 {
			p.Message += fmt.Sprintf(" (kept from form %d; declare it again, together with what it needs, or forget it: reset)",
				p.Form)
		}
	}
}

// Runs reports whether the form has something to run.
func (c *Compilation) Runs() bool {
	return c.Form.Body != nil || c.Program.RunMain ||
		slices.ContainsFunc(c.Form.Declarations, func(d *form.Declaration) bool { return d.Runs })
}

// Declared returns the names that the form adds to the session.
func (c *Compilation) Declared() []string {
	out := []string{}
	for _, d := range c.Form.Declarations {
		if !d.IsMain() {
			out = append(out, d.Names...)
		}
	}
	return append(out, c.imported...)
}

// Declares reports whether the form changes what the session has declared.
func (c *Compilation) Declares() bool {
	return len(c.Declared())+len(c.Form.Imports)+len(c.Forgotten) > 0
}

// Keep changes what the session has declared. It fails if there is no room.
func (c *Compilation) Keep() error {
	if !c.Declares() {
		return nil
	}
	err := c.session.SetScope(c.Target.Path, c.scope)
	if err == nil {
		c.Notes = append(c.Notes, c.kept...)
	}
	return err
}
