package compile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/check"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
)

// resolve decides what the form's names mean and what the session will have declared.
func (c *Compilation) resolve(ctx context.Context, checker *check.Checker, old *session.Scope) error {
	c.scope = &session.Scope{Imports: maps.Clone(old.Imports), Blank: slices.Clone(old.Blank)}
	imports, own, err := c.addImports(checker)
	if err != nil {
		return err
	}
	declarations, err := c.addDeclarations(old)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, d := range declarations {
		for _, n := range d.Names {
			names[n] = !d.IsInit() && !d.IsMain()
		}
	}
	if c.replaced, c.files, err = checker.Replace(names); err != nil {
		return err
	}
	r := &check.Resolver{
		Form: imports, Session: c.scope.Imports, Files: c.graph.FileImports(checker.Files), Declared: checker.Declared(),
		Given: c.Target.Given, Own: c.Target.Name,
		Std: func() (map[string][]*gocmd.Package, error) { return c.compiler.cache.Std(ctx, c.Target.Go) },
	}
	for n := range names {
		r.Declared[n] = true
	}
	if c.Target.IsEmpty() {
		r.Own = ""
	}
	needed, err := c.importAll(r, own)
	if err != nil {
		return err
	}
	if err := r.Problems.Err(); err != nil {
		return err
	}
	c.setProgram(declarations)
	c.tell(names, c.Scrub(ctx))
	for path := range needed {
		if c.graph.Packages[path] == nil {
			if err := c.load(ctx, old, needed); err != nil {
				return err
			}
			break
		}
	}
	for _, path := range slices.Sorted(maps.Keys(needed)) {
		if cycle := c.graph.Cycle(path, c.Target.Path); cycle != nil {
			return form.Problems{{Message: cycleText(cycle)}}
		}
	}
	return nil
}

// importAll decides which packages the form's code imports, and returns their paths. The
// names in own mean the package itself, as may its own name.
func (c *Compilation) importAll(r *check.Resolver, own map[string]bool) (needed map[string]bool, err error) {
	needed = map[string]bool{}
	imports := func(uses form.Uses, unqualify func(string)) (map[string]string, error) {
		rest := maps.Clone(uses)
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			isOwn, err := own[name], error(nil)
			if !isOwn {
				isOwn, err = r.IsOwn(name, uses[name])
			}
			if err != nil {
				return nil, err
			}
			if isOwn {
				unqualify(name)
				delete(rest, name)
				c.note("the form is evaluated inside package %s: %s.X means X there", c.Target.Path, name)
			}
		}
		found, err := r.Imports(rest)
		for _, path := range found {
			needed[path] = true
		}
		return found, err
	}
	for _, d := range c.Form.Declarations {
		if d.Imports, err = imports(d.Uses, d.Unqualify); err != nil {
			return nil, err
		}
	}
	if b := c.Form.Body; b != nil {
		if c.Program.Imports, err = imports(b.Uses, b.Unqualify); err != nil {
			return nil, err
		}
	}
	return needed, nil
}

// addImports adds the form's imports to the scope and returns them, name to path, and the
// names under which it imports the package that it is evaluated in.
func (c *Compilation) addImports(checker *check.Checker) (out map[string]string, own map[string]bool, err error) {
	out, own = map[string]string{}, map[string]bool{}
	var problems form.Problems
	for _, imp := range c.Form.Imports {
		name := imp.Name
		switch {
		case imp.Path == c.Target.Path:
			if name == "" {
				name = c.Target.Name
			}
			own[name] = true
			continue
		case name == "_":
			if !slices.Contains(c.scope.Blank, imp.Path) {
				c.scope.Blank = append(c.scope.Blank, imp.Path)
			}
			continue
		case name == "":
			name = c.graph.Name(imp.Path)
		}
		if at := checker.Position(name); at != "" {
			problems.Add(form.Problem{
				Line: imp.Position.Line, Column: imp.Position.Column,
				Message: fmt.Sprintf("package %s declares %s itself; import it under another name: import %s2 %q",
					c.Target.Path, name, name, imp.Path),
			})
		}
		out[name], c.scope.Imports[name] = imp.Path, imp.Path
		c.imported = append(c.imported, name)
	}
	return out, own, problems.Err()
}

// addDeclarations returns the declarations of the session and the form. A name has its last
// meaning, whether that is a declaration or an import.
func (c *Compilation) addDeclarations(old *session.Scope) ([]*form.Declaration, error) {
	kept := old.Declarations
	imported := map[string]bool{}
	for _, name := range c.imported {
		imported[name] = true
	}
	kept, lost := form.Forget(kept, imported)
	out, also := form.Replace(kept, c.Form.Declarations)
	if lost = append(lost, also...); len(lost) > 0 {
		return nil, fmt.Errorf("the form declares only some of the names that were declared together; declare %s in it too",
			strings.Join(lost, ", "))
	}
	for _, d := range c.Form.Declarations {
		for _, n := range d.Names {
			if imported[n] {
				return nil, form.Problems{{
					Line: d.Position.Line, Column: d.Position.Column,
					Message: n + " is imported by the form too; rename one of them",
				}}
			}
			if path := c.scope.Imports[n]; path != "" {
				delete(c.scope.Imports, n)
				c.note("%s is what the form declares, and no longer package %s, which the session had imported", n, path)
			}
		}
	}
	for _, d := range old.Declarations {
		for _, n := range d.Names {
			if imported[n] {
				c.note("%s is the package, and no longer what form %d declared", n, d.Form)
			}
		}
	}
	return out, nil
}

// forget returns what the session has declared without what the caller wants forgotten.
func (c *Compilation) forget(names []string) (*session.Scope, error) {
	old := c.session.Scope(c.Target.Path)
	if len(names) == 0 {
		return old, nil
	}
	all := slices.Concat(form.Names(old.Declarations), slices.Sorted(maps.Keys(old.Imports)), old.Blank)
	if slices.Contains(names, Everything) {
		c.Forgotten = all
		return &session.Scope{Imports: map[string]string{}}, nil
	}
	out := &session.Scope{Imports: maps.Clone(old.Imports), Blank: slices.Clone(old.Blank)}
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
		if !slices.Contains(all, n) {
			known := "nothing"
			if len(all) > 0 {
				known = strings.Join(all, ", ")
			}
			return nil, fmt.Errorf("the session has not declared %s in package %s; it has declared %s",
				n, c.Target.Path, known)
		}
		delete(out.Imports, n)
	}
	out.Blank = slices.DeleteFunc(out.Blank, func(path string) bool { return set[path] })
	var lost []string
	if out.Declarations, lost = form.Forget(old.Declarations, set); len(lost) > 0 {
		return nil, fmt.Errorf("%s were declared together with what is to be forgotten; name them in reset too",
			strings.Join(lost, ", "))
	}
	left := form.Names(out.Declarations)
	c.Forgotten = slices.DeleteFunc(all, func(n string) bool {
		return out.Imports[n] != "" || slices.Contains(out.Blank, n) || slices.Contains(left, n)
	})
	return out, nil
}
