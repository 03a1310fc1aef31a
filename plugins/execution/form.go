package main

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

// form is what a caller wants evaluated, taken apart: declarations, which are
// kept, and a body, which runs once.
type form struct {
	number  int // in its session
	text    string
	imports []importSpec
	units   []*unit
	body    *body // nil: declarations only
}

type importSpec struct {
	name string // as written; empty: the package's own
	path string
	at   position
}

// position is a place in a form. Columns count bytes, as the compiler's do.
type position struct{ line, col int }

// maxForm bounds a form, in bytes.
const maxForm = 256 << 10

// parseForm takes a form apart. Faults in it are [problems].
func parseForm(text string, number int) (*form, error) {
	switch {
	case len(text) > maxForm:
		return nil, fmt.Errorf("the form has %d bytes, more than %d; write it to a file of the workspace and call it from a small form", len(text), maxForm)
	case strings.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("the form has a NUL byte at offset %d; leave it out", strings.IndexByte(text, 0))
	case !utf8.ValidString(text):
		return nil, errors.New("the form is not valid UTF-8; write it in UTF-8")
	}
	f := &form{number: number, text: text}
	rest := []byte(text)
	for _, c := range chunks(text) {
		if !c.declares {
			continue
		}
		if err := f.declare(c); err != nil {
			return nil, err
		}
		blank(rest[c.start:c.end])
	}
	var err error
	f.body, err = f.parseBody(string(rest))
	if err == nil && f.body == nil && len(f.units)+len(f.imports) == 0 {
		err = errors.New("the form is empty; write an expression, statements or declarations")
	}
	return f, err
}

// blank leaves lines and columns as they are.
func blank(text []byte) {
	for i, b := range text {
		if b != '\n' {
			text[i] = ' '
		}
	}
}

// chunk is what stands between two semicolons outside of all brackets.
type chunk struct {
	start, end int
	declares   bool
}

// chunks finds the declarations of a form: import, package, named functions
// and methods wherever they stand; type, var and const before the first
// statement, as behind it they may need what it defines.
func chunks(text string) []chunk {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0) // faults are the parser's to report
	var out []chunk
	var head []token.Token // of the chunk, outside of brackets
	start, depth, stated := -1, 0, false
	end := func(at int) {
		if start < 0 {
			return
		}
		kind := declaring(head)
		always := kind == token.FUNC || kind == token.IMPORT || kind == token.PACKAGE
		c := chunk{start: start, end: at, declares: always || kind != token.ILLEGAL && !stated}
		stated = stated || !c.declares
		out = append(out, c)
		start, head = -1, nil
	}
	for {
		pos, tok, _ := s.Scan()
		at := file.Offset(pos)
		if tok == token.EOF {
			end(len(text))
			return out
		}
		if tok == token.SEMICOLON && depth == 0 {
			end(at)
			continue
		}
		if start < 0 {
			start = at
		}
		if depth == 0 && len(head) < 5 {
			head = append(head, tok)
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth = max(0, depth-1)
			if depth == 0 && len(head) < 5 {
				head = append(head, tok)
			}
		}
	}
}

// declaring is the keyword of a declaration that begins with head, else
// [token.ILLEGAL]. A function literal that is called declares nothing.
func declaring(head []token.Token) token.Token {
	is := func(i int, tok token.Token) bool { return i < len(head) && head[i] == tok }
	switch head[0] {
	case token.IMPORT, token.PACKAGE, token.TYPE, token.VAR, token.CONST:
		return head[0]
	case token.FUNC:
		if is(1, token.IDENT) || is(1, token.LPAREN) && is(2, token.RPAREN) && is(3, token.IDENT) && (is(4, token.LPAREN) || is(4, token.LBRACK)) {
			return token.FUNC
		}
	}
	return token.ILLEGAL
}

// declare parses one declaration.
func (f *form) declare(c chunk) error {
	text := f.text[c.start:c.end]
	if strings.HasPrefix(text, "package") {
		return nil // a whole file is a form too; its package is chosen otherwise
	}
	fset := token.NewFileSet()
	at := place(f.text, c.start)
	prefix := "package p\n" + directive(f.number, at)
	file, err := parser.ParseFile(fset, "", prefix+text+"\n", 0)
	if err != nil {
		return parseProblems(err, f)
	}
	if len(file.Decls) != 1 {
		return fmt.Errorf("the form has a declaration at %d:%d that is not one; separate declarations by newlines", at.line, at.col)
	}
	src := source{form: f, fset: fset, file: file, text: prefix + text, shift: c.start - len(prefix)}
	decl, ok := file.Decls[0].(*ast.GenDecl)
	if !ok {
		f.units = append(f.units, src.unit("", file.Decls[0]))
		return nil
	}
	switch decl.Tok {
	case token.IMPORT:
		return src.imports(decl)
	case token.CONST: // one constant may be defined by the one before
		f.units = append(f.units, src.unit("", decl))
	default:
		for _, spec := range decl.Specs {
			f.units = append(f.units, src.unit(decl.Tok.String()+" ", spec))
		}
	}
	return nil
}

// source is a piece of a form that was parsed.
type source struct {
	form  *form
	fset  *token.FileSet
	file  *ast.File
	text  string
	shift int // from an offset in text to one in the form
}

func (s source) offset(p token.Pos) int {
	return s.fset.File(p).Offset(p)
}

func (s source) at(p token.Pos) position { return place(s.form.text, s.offset(p)+s.shift) }

func (s source) cut(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

func (s source) imports(decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ImportSpec)
		out := importSpec{at: s.at(spec.Pos())}
		out.path, _ = strconv.Unquote(spec.Path.Value) // the parser saw to it
		if spec.Name != nil {
			out.name = spec.Name.Name
		}
		switch {
		case out.name == ".":
			return fmt.Errorf("the form's import of %q at %d:%d is a dot import, which cannot be kept; import it by name", out.path, out.at.line, out.at.col)
		case out.path == "C":
			return fmt.Errorf("the form imports C at %d:%d, which forms cannot; write the C code in a package of the workspace", out.at.line, out.at.col)
		case path.IsAbs(out.path) || strings.HasPrefix(out.path, "."):
			return fmt.Errorf("the form imports %q at %d:%d, which is no import path; write it in full", out.path, out.at.line, out.at.col)
		}
		s.form.imports = append(s.form.imports, out)
	}
	return nil
}

// place counts lines and columns from 1.
func place(text string, offset int) position {
	offset = min(max(offset, 0), len(text))
	before := text[:offset]
	return position{strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')}
}

// directive lets the compiler speak of a place in a form instead of one in a
// file of ours.
func directive(number int, at position) string {
	return fmt.Sprintf("/*line %s:%d:%d*/", formFile(number), at.line, at.col)
}

// formFile names a form in positions. It is absolute, as else the compiler makes
// it so with a directory of the machine.
func formFile(number int) string { return fmt.Sprintf("%s%d.go", formPrefix, number) }

const formPrefix = ourPrefix + "form"
