package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// generated are the files that make a form a part of a package, by name. The go
// command gives files to the compiler in the order of their names, which is the
// order of initialization too: what reports crashes comes first, the form last.
type generated map[string]string

const (
	filePrefix = "zzz_toolhost_"
	startFile  = filePrefix + "000_start.go"
	bodyFile   = filePrefix + "999_body.go"
	mainDir    = "zzz_toolhost_main"
)

// program says what to generate.
type program struct {
	pkg     string // name of the package
	isMain  bool   // its main function is not to run
	alone   bool   // there is nothing else in it, so the main function is ours
	lang    string // language version of the module, as 1.26
	form    int
	units   []*unit
	body    *body
	imports map[string]string // of the body
	blank   []string          // packages to import for their effects
	show    bool
	mains   bool     // the form has a main function to run
	values  []string // variables to show where there is no body
}

func (p program) files() generated {
	out := generated{startFile: p.header(nil, false) + harness +
		fmt.Sprintf("\nconst toolhostMost, toolhostCount = %d, %d\n", maxValue, maxValues)}
	for i, g := range groups(p.units) {
		var text strings.Builder
		text.WriteString(p.header(g.imports, false))
		for _, u := range g.units {
			text.WriteString(u.code(p.form))
		}
		out[fmt.Sprintf("%s%03d.go", filePrefix, i+1)] = text.String()
	}
	out[bodyFile] = p.header(p.imports, true) + p.bodyCode() + p.entry()
	return out
}

func (p program) bodyCode() string {
	var out strings.Builder
	switch {
	case p.body != nil:
		out.WriteString(p.body.code(p.form, p.show))
	case p.mains:
		out.WriteString("func " + bodyFunc + "() { " + mainFunc + "() }\n")
	default:
		out.WriteString("func " + bodyFunc + "() { " + showFunc + "(" + strings.Join(p.values, ", ") + ") }\n")
	}
	return out.String()
}

// entry starts the form: in a main package before its main function, which does
// not run.
func (p program) entry() string {
	switch {
	case p.alone:
		return "\nfunc main() { " + runFunc + "() }\n"
	case p.isMain:
		return "\nfunc init() { " + runFunc + "(); toolhostOS.Exit(0) }\n"
	}
	return ""
}

func (p program) header(imports map[string]string, body bool) string {
	var out strings.Builder
	if olderThan(p.lang, 18) {
		out.WriteString("//go:build go1.18\n\n") // any, and what forms are written in
	}
	fmt.Fprintf(&out, "package %s\n\n", p.pkg)
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&out, "import %s %q\n", name, imports[name])
	}
	if body {
		for _, path := range p.blank {
			fmt.Fprintf(&out, "import _ %q\n", path)
		}
	}
	if body && p.isMain && !p.alone {
		out.WriteString("import toolhostOS \"os\"\n")
	}
	return out.String()
}

// mainFunc is what a form's own main function is called.
const mainFunc = "toolhostMain"

func (u *unit) code(form int) string {
	text := u.text
	if u.isMain() && u.form == form {
		text = strings.Replace(text, "main", mainFunc, 1)
	}
	return u.keyword + directive(u.form, u.at) + text + "\n" + ours + "\n"
}

// group is a set of units that can be in one file: no name is imported for two
// packages.
type group struct {
	imports map[string]string
	units   []*unit
}

func groups(units []*unit) []*group {
	var out []*group
	for _, u := range units {
		at := slices.IndexFunc(out, func(g *group) bool { return g.fits(u.imports) })
		if at < 0 {
			at = len(out)
			out = append(out, &group{imports: map[string]string{}})
		}
		maps.Copy(out[at].imports, u.imports)
		out[at].units = append(out[at].units, u)
	}
	return out
}

func (g *group) fits(imports map[string]string) bool {
	for name, path := range imports {
		if there, ok := g.imports[name]; ok && there != path {
			return false
		}
	}
	return true
}

// mainFile is the program for a package that is no main package.
func mainFile(importPath string) string {
	return fmt.Sprintf("package main\n\nimport toolhost %q\n\nfunc main() { toolhost.%s() }\n", importPath, runFunc)
}

// olderThan reports whether a language version is below 1.minor; unknown: no.
func olderThan(lang string, minor int) bool {
	var major, have int
	n, _ := fmt.Sscanf(lang, "%d.%d", &major, &have)
	return n == 2 && major == 1 && have < minor
}
