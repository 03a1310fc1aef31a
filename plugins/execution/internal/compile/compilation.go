package compile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/check"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
)

// Compilation is one form that is compiled. [Compilation.Check] comes first.
type Compilation struct {
	Form    *form.Form
	Target  *target.Target // nil if it was not found
	Program program.Program
	Types   []check.Type // of the values that the form shows

	compiler *Compiler
	session  *session.Session
	temp     string
	graph    *gocmd.Graph
	scope    *session.Scope // what the session has declared if all goes well
	imported []string       // names of the form's imports
}

// Check parses a form, finds its package, and type-checks the two together.
//
// # Errors
//
// [form.Problems] if the form does not compile.
func (c *Compilation) Check(ctx context.Context, text, pkg string) error {
	var err error
	if c.Form, err = form.Parse(text, c.session.Forms); err != nil {
		return err
	}
	if c.Target, err = c.compiler.Finder.Find(ctx, pkg, c.temp); err != nil {
		return err
	}
	if err := c.load(ctx, nil); err != nil {
		return err
	}
	checker, err := check.NewChecker(c.graph, c.Target)
	if err != nil {
		return errors.New(c.Scrub(ctx)(err.Error()))
	}
	if err := c.resolve(ctx, checker); err != nil {
		return err
	}
	return c.checkTypes(ctx, checker)
}

// load lists the target and all that is imported. Needed are further packages.
func (c *Compilation) load(ctx context.Context, needed map[string]bool) error {
	imports := c.session.Scope(c.Target.Path).Paths()
	maps.Copy(imports, needed)
	for _, imp := range c.Form.Imports {
		imports[imp.Path] = true
	}
	g, err := c.compiler.cache.Load(ctx, c.Target.Go, c.Target.Pattern, imports)
	if err != nil {
		return err
	}
	c.graph = g
	var problems form.Problems
	for _, imp := range c.Form.Imports {
		if err := g.ImportError(imp.Path); err != nil {
			problems.Add(form.Problem{Line: imp.Position.Line, Column: imp.Position.Column, Message: err.Error()})
		}
	}
	return problems.Err()
}

// resolve decides what the form's names mean and what the session will have declared.
func (c *Compilation) resolve(ctx context.Context, checker *check.Checker) error {
	old := c.session.Scope(c.Target.Path)
	declarations, lost := form.Replace(old.Declarations, c.Form.Declarations)
	if len(lost) > 0 {
		return fmt.Errorf("the form declares only some of the names that were declared together; declare %s in it too",
			strings.Join(lost, ", "))
	}
	c.scope = &session.Scope{Imports: maps.Clone(old.Imports), Blank: slices.Clone(old.Blank)}
	r := &check.Resolver{
		Form: c.addImports(), Session: old.Imports, Files: c.graph.FileImports(checker.Files), Declared: checker.Declared(),
		Std: func() (map[string][]*gocmd.Package, error) { return c.compiler.cache.Std(ctx, c.Target.Go) },
	}
	for _, name := range form.Names(declarations) {
		r.Declared[name] = true
	}
	needed := map[string]bool{}
	imports := func(uses form.Uses) (map[string]string, error) {
		found, err := r.Imports(uses)
		for _, path := range found {
			needed[path] = true
		}
		return found, err
	}
	var err error
	for _, d := range c.Form.Declarations {
		if d.Imports, err = imports(d.Uses); err != nil {
			return err
		}
	}
	if c.Form.Body != nil {
		if c.Program.Imports, err = imports(c.Form.Body.Uses); err != nil {
			return err
		}
	}
	if err := r.Problems.Err(); err != nil {
		return err
	}
	c.setProgram(declarations)
	for path := range needed {
		if c.graph.Packages[path] == nil {
			return c.load(ctx, needed)
		}
	}
	return nil
}

// addImports adds the form's imports to the scope and returns them, name to path.
func (c *Compilation) addImports() map[string]string {
	out := map[string]string{}
	for _, imp := range c.Form.Imports {
		name := imp.Name
		switch name {
		case "_":
			if !slices.Contains(c.scope.Blank, imp.Path) {
				c.scope.Blank = append(c.scope.Blank, imp.Path)
			}
			continue
		case "":
			name = c.graph.Name(imp.Path)
		}
		out[name], c.scope.Imports[name] = imp.Path, imp.Path
		c.imported = append(c.imported, name)
	}
	return out
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
		return fmt.Errorf("package %s does not compile, so nothing can be evaluated in it:\n%s",
			c.Target.Path, scrub(strings.Join(own[:min(len(own), form.MaxProblems)], "\n")))
	}
	c.explain(result.Problems, scrub)
	return result.Problems
}

// explain adds to the compiler's messages what it cannot know: that a name may be
// a package's, and that a declaration was kept from an earlier form.
func (c *Compilation) explain(problems form.Problems, scrub func(string) string) {
	for i := range problems {
		p := &problems[i]
		p.Message = scrub(p.Message)
		if name, ok := strings.CutPrefix(p.Message, "undefined: "); ok && c.Form.Selects(name) {
			p.Message += fmt.Sprintf(" (if %s is a package, import it in the form: import \"path/of/%s\")", name, name)
		}
		if p.Form > 0 {
			p.Message += fmt.Sprintf(" (kept from form %d; declare it again, together with what it needs)", p.Form)
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

// Declares reports whether the form adds anything to the session.
func (c *Compilation) Declares() bool { return len(c.Declared())+len(c.Form.Imports) > 0 }

// Keep adds the form's declarations to the session. It fails if there is no room
// for them.
func (c *Compilation) Keep() error {
	if !c.Declares() {
		return nil
	}
	return c.session.SetScope(c.Target.Path, c.scope)
}
