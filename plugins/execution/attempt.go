package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// attempt is one form on its way to becoming a part of a package.
type attempt struct {
	*evaluator
	private   string
	session   *session
	anonymous bool
	form      *form
	target    *target
	graph     *graph
	// imported are the names of what the form imports.
	imported []string
	next     *scope // what the session has declared if it goes well
	program  program
	check    checked
	gen      generated
}

// common are packages that forms often use. They are listed from the start, so that
// a form that uses another of them needs no second look.
var common = []string{
	"bytes", "context", "encoding/json", "errors", "fmt", "io", "maps", "math", "os", "path/filepath", "reflect",
	"regexp", "runtime/debug", "slices", "sort", "strconv", "strings", "sync", "time",
}

// patterns name a package and what else is to be importable.
func patterns(own string, more map[string]bool) []string {
	out := slices.Clone(common)
	for path := range more {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	if own != "" {
		out = append(out, own)
	}
	return append([]string{"--"}, out...)
}

// prepare parses a form, finds its package, and type-checks the two together.
func (a *attempt) prepare(ctx context.Context, text, pkg string) error {
	var err error
	if a.form, err = parseForm(text, a.session.forms); err != nil {
		return err
	}
	if a.target, err = a.evaluator.target(ctx, pkg, a.private); err != nil {
		return err
	}
	if err := a.load(ctx, nil); err != nil {
		return err
	}
	c, err := parsePackage(a.graph, a.target)
	if err != nil {
		return errors.New(a.scrub(ctx, a.target.toolchain)(err.Error()))
	}
	c.form = a.form.number
	if err := a.plan(ctx, c); err != nil {
		return err
	}
	c.graph = a.graph // the form may have brought more packages
	return a.checkTypes(ctx, c)
}

// load lists the target and all that is imported.
func (a *attempt) load(ctx context.Context, found map[string]bool) error {
	more := maps.Clone(found)
	if more == nil {
		more = map[string]bool{}
	}
	for _, spec := range a.form.imports {
		more[spec.path] = true
	}
	kept := a.session.scope(a.target.name)
	for _, path := range kept.imports {
		more[path] = true
	}
	for _, path := range kept.blank {
		more[path] = true
	}
	for _, u := range kept.units {
		for _, path := range u.imports {
			more[path] = true
		}
	}
	g, err := a.graphs.load(ctx, a.target.toolchain, patterns(a.target.pattern, more))
	if err != nil {
		return err
	}
	a.graph = g
	faults := &problems{}
	for _, spec := range a.form.imports {
		if err := g.importError(spec.path); err != nil {
			faults.add(problem{Line: spec.at.line, Column: spec.at.col, Message: err.Error()})
		}
	}
	return faults.orNil()
}

// plan decides what the form's names mean and what the session will have declared.
func (a *attempt) plan(ctx context.Context, c *checker) error {
	old := a.session.scope(a.target.name)
	added := a.form.units
	a.program.mains = slices.ContainsFunc(added, (*unit).isMain)
	units, lost := replace(old.units, added)
	if len(lost) > 0 {
		return fmt.Errorf("the form declares only a part of what was declared together; declare %s in it too", strings.Join(lost, ", "))
	}
	r := &resolver{
		explicit: map[string]string{}, session: old.imports, files: a.graph.fileImports(c.files), declared: c.declared(),
		std:      func() (map[string][]*listed, error) { return a.std.get(ctx, a.target.toolchain) },
		problems: &problems{},
	}
	for _, name := range names(units) {
		r.declared[name] = true
	}
	a.next = &scope{imports: maps.Clone(old.imports), blank: slices.Clone(old.blank)}
	for _, spec := range a.form.imports {
		name := spec.name
		switch name {
		case "_":
			if !slices.Contains(a.next.blank, spec.path) {
				a.next.blank = append(a.next.blank, spec.path)
			}
			continue
		case "":
			name = a.graph.nameOf(spec.path)
		}
		r.explicit[name], a.next.imports[name] = spec.path, spec.path
		a.imported = append(a.imported, name)
	}
	found := map[string]bool{}
	var err error
	for _, u := range added {
		if u.imports, err = r.imports(u.uses); err != nil {
			return err
		}
		note(found, u.imports)
	}
	a.program.imports = map[string]string{}
	if a.form.body != nil {
		if a.program.imports, err = r.imports(a.form.body.uses); err != nil {
			return err
		}
		note(found, a.program.imports)
	}
	if err := r.problems.orNil(); err != nil {
		return err
	}
	a.setProgram(units)
	for path := range found {
		if a.graph.packages[path] == nil {
			return a.load(ctx, found)
		}
	}
	return nil
}

func note(found map[string]bool, imports map[string]string) {
	for _, path := range imports {
		found[path] = true
	}
}

func (a *attempt) setProgram(units []*unit) {
	p := &a.program
	p.pkg, p.isMain, p.alone, p.lang = a.target.pkg, a.target.pkg == "main", a.target.alone(), a.target.lang
	p.form, p.units, p.body, p.show, p.blank = a.form.number, units, a.form.body, true, a.next.blank
	for _, u := range a.form.units {
		if u.runs {
			p.values = append(p.values, u.values...)
		}
	}
	// A main function was there to run, not to be called later.
	a.next.units = slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return u.isMain() && u.form == a.form.number })
}

// checkTypes is the compiler's verdict, as far as it can be had without it.
func (a *attempt) checkTypes(ctx context.Context, c *checker) error {
	for {
		a.gen = a.program.files()
		var err error
		if a.check, err = c.check(a.gen); err != nil {
			return err
		}
		if !a.check.void || !a.program.show {
			break
		}
		a.program.show = false // a call without results is a statement
	}
	scrub := a.scrub(ctx, a.target.toolchain)
	if own := a.check.own; len(own) > 0 {
		return fmt.Errorf("package %s does not compile, so nothing can be evaluated in it:\n%s", a.target.name, scrub(strings.Join(own[:min(len(own), maxProblems)], "\n")))
	}
	if len(a.check.problems.list) == 0 {
		return nil
	}
	a.explain(scrub)
	return a.check.problems
}

// explain adds to what the compiler says what it does not know: that a name may be
// that of a package, and that a declaration of an earlier form is concerned.
func (a *attempt) explain(scrub func(string) string) {
	for i := range a.check.problems.list {
		p := &a.check.problems.list[i]
		p.Message = scrub(p.Message)
		if name, ok := strings.CutPrefix(p.Message, "undefined: "); ok && a.selects(name) {
			p.Message += fmt.Sprintf(" (if %s is a package, import it in the form: import \"path/of/%s\")", name, name)
		}
		if p.Form > 0 {
			p.Message += fmt.Sprintf(" (kept from form %d; declare it again, together with what it needs)", p.Form)
		}
	}
}

// selects reports whether the form selects something from a name.
func (a *attempt) selects(name string) bool {
	if a.form.body != nil && a.form.body.uses[name] != nil {
		return true
	}
	return slices.ContainsFunc(a.form.units, func(u *unit) bool { return u.uses[name] != nil })
}

// declares is what the form would add to the session.
func (a *attempt) declares() []string {
	out := []string{}
	for _, u := range a.form.units {
		if !u.isMain() {
			out = append(out, u.names...)
		}
	}
	return append(out, a.imported...)
}

// changes reports whether there is anything to keep.
func (a *attempt) changes() bool { return len(a.declares())+len(a.form.imports) > 0 }

// keep makes what the form declared a part of the session.
func (a *attempt) keep() error {
	if !a.changes() {
		return nil
	}
	if !a.session.hasRoom(a.target.name, a.next) {
		return fmt.Errorf("the session has no room for more declarations (%d bytes in %d packages are what it may keep); write them to a file of the workspace", maxKept, maxScopes)
	}
	a.session.packages[a.target.name] = a.next
	return nil
}
