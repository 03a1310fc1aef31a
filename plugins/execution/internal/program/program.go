// Package program writes the Go source that makes a form a part of a package and
// runs it, and reads what the running program reports of it. Start with
// [Program.Files] and [ReadReport].
package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
)

// Program describes the source to write.
type Program struct {
	Package      string // name of the package
	IsMain       bool   // its main function is not to run
	Empty        bool   // the package has no other files, so the main function is ours
	Language     string // language version of the module, as 1.26
	Form         int    // number of the form
	Declarations []*form.Declaration
	Body         *form.Body
	Imports      map[string]string // of the body, name to path
	Blank        []string          // packages to import for their effects
	Show         bool              // report the value of the body's last expression
	RunMain      bool              // the form has a main function to run
	Values       []string          // variables to report if there is no body
}

// Names of generated files. The go command gives files to the compiler in the
// order of their names, which is the order of initialization too: what reports
// crashes comes first, the form last.
const (
	filePrefix = "zzz_toolhost_"
	startFile  = filePrefix + "000_start.go"
	// BodyFile is the file that the form's body is in.
	BodyFile = filePrefix + "999_body.go"
	// MainDir is the directory, below the package's, of the program that runs a
	// form in a package that is not a main package.
	MainDir = "zzz_toolhost_main"
)

// TestFile returns the name of a generated file with the text of a test file, for the same
// platforms.
func TestFile(name string) string { return filePrefix + strings.TrimSuffix(name, "_test.go") + ".go" }

// Plain removes the names of generated code from a message or a stack.
func Plain(text string) string { return plain.Replace(text) }

var plain = strings.NewReplacer("/"+MainDir, "", bodyFunc, "form", mainFunc, "main", " in argument to "+ShowFunc, "",
	"argument to "+ShowFunc, "a value", ShowFunc, "form", runFunc, "form")

// IsGenerated reports whether the compiler means a generated file by a name.
func IsGenerated(name string) bool {
	return strings.HasPrefix(name, filePrefix) || strings.Contains(name, form.FilePrefix)
}

// Names in generated code. [ShowFunc] gets the values to report.
const (
	ShowFunc = "toolhostShow"
	runFunc  = "ToolhostRun"
	bodyFunc = "toolhostBody"
	mainFunc = "toolhostMain" // the form's own main function
)

// afterForm ends the text of a form for the compiler.
const afterForm = "/*line " + form.FilePrefix + "start.go:1:1*/"

// Files returns the generated files of the package, by name.
func (p *Program) Files() map[string]string {
	out := map[string]string{
		startFile: p.header(nil) + harness +
			fmt.Sprintf("\nconst toolhostMost, toolhostCount = %d, %d\n", MaxValue, maxValues),
	}
	for i, g := range groupByImports(p.Declarations) {
		var text strings.Builder
		text.WriteString(p.header(g.imports))
		for _, d := range g.declarations {
			text.WriteString(p.declaration(d))
		}
		out[fmt.Sprintf("%s%03d.go", filePrefix, i+1)] = text.String()
	}
	out[BodyFile] = p.bodyFile()
	return out
}

// MainFile returns the main package for a package that is not one itself.
func MainFile(importPath string) string {
	return fmt.Sprintf("package main\n\nimport toolhost %q\n\nfunc main() { toolhost.%s() }\n", importPath, runFunc)
}

func (p *Program) header(imports map[string]string) string {
	var out strings.Builder
	if olderThan(p.Language, 18) {
		out.WriteString("//go:build go1.18\n\n") // forms are written with any
	}
	fmt.Fprintf(&out, "package %s\n\n", p.Package)
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&out, "import %s %q\n", name, imports[name])
	}
	return out.String()
}

func (p *Program) declaration(d *form.Declaration) string {
	text := d.Text
	if d.IsMain() && d.Form == p.Form {
		text = strings.Replace(text, "main", mainFunc, 1)
	}
	return d.Keyword + form.Directive(d.Form, d.Position) + text + "\n" + afterForm + "\n"
}

func (p *Program) bodyFile() string {
	var out strings.Builder
	out.WriteString(p.header(p.Imports))
	for _, path := range p.Blank {
		fmt.Fprintf(&out, "import _ %q\n", path)
	}
	if p.IsMain && !p.Empty {
		out.WriteString("import toolhostOS \"os\"\n")
	}
	switch {
	case p.Body != nil:
		p.writeBody(&out)
	case p.RunMain:
		out.WriteString("func " + bodyFunc + "() { " + mainFunc + "() }\n")
	default:
		out.WriteString("func " + bodyFunc + "() { " + ShowFunc + "(" + strings.Join(p.Values, ", ") + ") }\n")
	}
	switch {
	case p.Empty:
		out.WriteString("\nfunc main() { " + runFunc + "() }\n")
	case p.IsMain: // before its main function, which does not run
		out.WriteString("\nfunc init() { " + runFunc + "(); toolhostOS.Exit(0) }\n")
	}
	return out.String()
}

func (p *Program) writeBody(out *strings.Builder) {
	b := p.Body
	out.WriteString("func " + bodyFunc + "() {\n" + form.Directive(p.Form, form.Position{Line: 1, Column: 1}))
	if p.Show && b.HasValue() {
		value := b.Text[b.ValueStart:b.ValueEnd]
		if b.IsNil {
			value = "any(nil)"
		}
		out.WriteString(b.Text[:b.ValueStart])
		out.WriteString(ShowFunc + "(" + form.Directive(p.Form, b.At(b.ValueStart)) + value)
		out.WriteString(form.Directive(p.Form, b.At(b.ValueEnd)) + ")")
		out.WriteString(b.Text[b.ValueEnd:])
	} else {
		out.WriteString(b.Text)
	}
	out.WriteString("\n" + afterForm)
	for _, name := range b.Defined {
		fmt.Fprintf(out, "_ = %s\n", name)
	}
	out.WriteString("}\n")
}

// group is a set of declarations that can share a file, because no name is
// imported for two packages.
type group struct {
	imports      map[string]string
	declarations []*form.Declaration
}

func groupByImports(declarations []*form.Declaration) []*group {
	var out []*group
	for _, d := range declarations {
		at := slices.IndexFunc(out, func(g *group) bool { return g.accepts(d.Imports) })
		if at < 0 {
			at = len(out)
			out = append(out, &group{imports: map[string]string{}})
		}
		maps.Copy(out[at].imports, d.Imports)
		out[at].declarations = append(out[at].declarations, d)
	}
	return out
}

func (g *group) accepts(imports map[string]string) bool {
	for name, path := range imports {
		if other, ok := g.imports[name]; ok && other != path {
			return false
		}
	}
	return true
}

// olderThan reports whether a language version is known to be below 1.minor.
func olderThan(language string, minor int) bool {
	var major, have int
	n, _ := fmt.Sscanf(language, "%d.%d", &major, &have)
	return n == 2 && major == 1 && have < minor
}
