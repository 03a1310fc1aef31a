// Package form takes apart the Go that a caller wants evaluated, a form:
// declarations, which a session keeps, and a body, which runs once. Start with
// [Parse].
package form

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Form is a parsed form.
type Form struct {
	Number       int // in its session
	Imports      []Import
	Declarations []*Declaration
	Body         *Body // nil if there are only declarations

	text string
}

// Import is one import of a form.
type Import struct {
	Name     string // as written; empty for the package's own
	Path     string
	Position Position
}

// MaxSize bounds a form, in bytes.
const MaxSize = 256 << 10

// Parse takes a form apart. Syntax errors in it are [Problems].
func Parse(text string, number int) (*Form, error) {
	switch {
	case len(text) > MaxSize:
		return nil, fmt.Errorf("the form has %d bytes, more than %d; "+
			"write it to a file of the workspace and call it from a small form", len(text), MaxSize)
	case strings.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("the form has a NUL byte at offset %d; leave it out", strings.IndexByte(text, 0))
	case !utf8.ValidString(text):
		return nil, errors.New("the form is not valid UTF-8; write it in UTF-8")
	}
	f := &Form{Number: number, text: text}
	if err := f.refuseDirectives(); err != nil {
		return nil, err
	}
	rest := []byte(text)
	for _, c := range split(text) {
		if !c.declares {
			continue
		}
		if err := f.addDeclaration(c); err != nil {
			return nil, err
		}
		blank(rest[c.start:c.end])
	}
	var err error
	f.Body, err = f.parseBody(string(rest))
	return f, err
}

// IsEmpty reports whether the form has neither declarations nor statements.
func (f *Form) IsEmpty() bool { return f.Body == nil && len(f.Declarations)+len(f.Imports) == 0 }

// directives are those comments for the compiler that change what a declaration means. They
// do not work in a form.
var directives = map[string]string{
	"//go:embed":      "read the file: os.ReadFile(\"path/from/the/workspace\")",
	"//go:linkname":   "evaluate in the package that declares the name",
	"//go:wasmimport": "leave it out",
	"//go:wasmexport": "leave it out",
}

// refuseDirectives refuses comments that would be ignored and change what the form means.
func (f *Form) refuseDirectives() error {
	file := token.NewFileSet().AddFile("", -1, len(f.text))
	var s scanner.Scanner
	s.Init(file, []byte(f.text), nil, scanner.ScanComments)
	var out Problems
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out.Err()
		}
		word, _, _ := strings.Cut(text, " ")
		if instead := directives[word]; tok == token.COMMENT && instead != "" {
			at := positionOf(f.text, file.Offset(pos))
			out.Add(Problem{Line: at.Line, Column: at.Column, Message: word + " does not work in a form; " + instead})
		}
	}
}

// blank replaces text by spaces. Line breaks stay, so that positions do.
func blank(text []byte) {
	for i, b := range text {
		if b != '\n' {
			text[i] = ' '
		}
	}
}

// addDeclaration parses a chunk that declares.
func (f *Form) addDeclaration(c chunk) error {
	text := f.text[c.start:c.end]
	if strings.HasPrefix(text, "package") {
		return nil // a form may be a whole file; the package argument decides where to evaluate it
	}
	at := positionOf(f.text, c.start)
	prefix := "package p\n" + Directive(f.Number, at)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", prefix+text+"\n", 0)
	if err != nil {
		return f.syntaxProblems(err)
	}
	if len(file.Decls) != 1 {
		return fmt.Errorf("the text at %d:%d of the form is not one declaration; separate declarations by newlines",
			at.Line, at.Column)
	}
	src := source{form: f, fset: fset, file: file, text: prefix + text, shift: c.start - len(prefix)}
	decl, ok := file.Decls[0].(*ast.GenDecl)
	if !ok {
		f.Declarations = append(f.Declarations, src.declaration("", file.Decls[0]))
		return nil
	}
	switch decl.Tok {
	case token.IMPORT:
		return f.addImports(src, decl)
	case token.CONST: // one group, as a constant may repeat the expression before it
		f.Declarations = append(f.Declarations, src.declaration("", decl))
	default:
		for _, spec := range decl.Specs {
			f.Declarations = append(f.Declarations, src.declaration(decl.Tok.String()+" ", spec))
		}
	}
	return nil
}

func (f *Form) addImports(src source, decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ImportSpec)
		imp := Import{Position: src.position(spec.Pos())}
		imp.Path, _ = strconv.Unquote(spec.Path.Value) // the parser has checked it
		if spec.Name != nil {
			imp.Name = spec.Name.Name
		}
		at := fmt.Sprintf("%d:%d", imp.Position.Line, imp.Position.Column)
		switch {
		case imp.Name == ".":
			return fmt.Errorf("the form's import of %q at %s is a dot import, which cannot be kept; import it by name",
				imp.Path, at)
		case imp.Path == "C":
			return fmt.Errorf("the form imports C at %s, which forms cannot; write the C code in a package of the workspace", at)
		case path.IsAbs(imp.Path) || strings.HasPrefix(imp.Path, "."):
			return fmt.Errorf("the form imports %q at %s, which is not an import path; write it in full", imp.Path, at)
		}
		f.Imports = append(f.Imports, imp)
	}
	return nil
}

// Selects reports whether the form selects something from a name, as in name.X.
func (f *Form) Selects(name string) bool {
	if f.Body != nil && f.Body.Uses[name] != nil {
		return true
	}
	for _, d := range f.Declarations {
		if d.Uses[name] != nil {
			return true
		}
	}
	return false
}

// source is a parsed piece of a form.
type source struct {
	form  *Form
	fset  *token.FileSet
	file  *ast.File
	text  string
	shift int // from an offset in text to one in the form
}

func (s source) offset(p token.Pos) int { return s.fset.File(p).Offset(p) }

func (s source) position(p token.Pos) Position { return positionOf(s.form.text, s.offset(p)+s.shift) }

func (s source) cut(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }
