package main

import (
	"crypto/sha256"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"sync"
)

// sources remembers what was read from single files without types: enough to
// see which packages are worth loading. It is safe for concurrent use.
type sources struct {
	mu    sync.Mutex
	files map[string]source
}

type source struct {
	file   file
	header *stamp
	names  []declared
	parsed bool
}

// declared is a name that a file declares: at package level, or as a method,
// field or interface method of the type in of.
type declared struct {
	name, of string
	kind     string // as [kind] calls it
	at       token.Position
	synopsis string
}

func (d declared) String() string {
	if d.of != "" {
		return d.of + "." + d.name
	}
	return d.name
}

// exported reports whether other packages can use the name.
func (d declared) exported() bool {
	return token.IsExported(d.name) && (d.of == "" || token.IsExported(d.of))
}

// get is what is known of f as it is now.
func (s *sources) get(f file) source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.files[f.path]; ok && known.file == f {
		return known
	}
	return source{file: f}
}

func (s *sources) put(src source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]source{}
	}
	s.files[src.file.path] = src
}

// header stands for a file down to its last import: all that decides about the
// import graph, so that edits below leave the graph standing.
func (s *sources) header(f file) stamp {
	src := s.get(f)
	if src.header == nil {
		h := readHeader(f.path)
		src.header = &h
		s.put(src)
	}
	return *src.header
}

func readHeader(path string) stamp {
	content, err := os.ReadFile(path)
	if err != nil {
		return stamp{}
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, path, content, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil || parsed == nil {
		return sha256.Sum256(content)
	}
	end := parsed.Name.End()
	for _, d := range parsed.Decls {
		end = max(end, d.End())
	}
	return sha256.Sum256(content[:min(fset.Position(end).Offset, len(content))])
}

// names are what a file declares, as far as it can be parsed.
func (s *sources) names(f file) []declared {
	src := s.get(f)
	if !src.parsed {
		src.names, src.parsed = readNames(f.path), true
		s.put(src)
	}
	return src.names
}

func readNames(path string) []declared {
	fset := token.NewFileSet()
	parsed, _ := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if parsed == nil {
		return nil
	}
	r := reader{fset: fset}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			of, kind := receiver(d), "func"
			if of != "" {
				kind = "method"
			}
			r.note(d.Name, of, kind, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				r.spec(d, spec)
			}
		}
	}
	return r.out
}

// reader collects what one file declares.
type reader struct {
	fset *token.FileSet
	out  []declared
}

func (r *reader) note(id *ast.Ident, of, kind string, comments ...*ast.CommentGroup) {
	if id.Name == "_" || id.Name == "init" && kind == "func" {
		return // nothing can refer to these
	}
	r.out = append(r.out, declared{
		name: id.Name, of: of, kind: kind, at: r.fset.PositionFor(id.Pos(), false), synopsis: synopsis(first(comments...)),
	})
}

func (r *reader) spec(d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			r.note(id, "", d.Tok.String(), spec.Doc, spec.Comment, d.Doc)
		}
	case *ast.TypeSpec:
		r.note(spec.Name, "", "type", spec.Doc, spec.Comment, d.Doc)
		switch t := spec.Type.(type) {
		case *ast.StructType:
			r.members(spec.Name.Name, "field", t.Fields)
		case *ast.InterfaceType:
			r.members(spec.Name.Name, "method", t.Methods)
		}
	}
}

func (r *reader) members(of, kind string, list *ast.FieldList) {
	for _, f := range list.List {
		for _, id := range f.Names {
			r.note(id, of, kind, f.Doc, f.Comment)
		}
	}
}

// receiver is the name of the type that a method belongs to; empty: it is a
// function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	if id := typeName(d.Recv.List[0].Type); id != nil {
		return id.Name
	}
	return "?"
}
