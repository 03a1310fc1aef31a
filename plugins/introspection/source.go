package main

import (
	"crypto/sha256"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
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
}

func (d declared) String() string {
	if d.of != "" {
		return d.of + "." + d.name
	}
	return d.name
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
	parsed, _ := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if parsed == nil {
		return nil
	}
	var out []declared
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out = append(out, declared{name: d.Name.Name, of: receiver(d)})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				out = appendSpec(out, spec)
			}
		}
	}
	// Nothing can refer to these.
	return slices.DeleteFunc(out, func(d declared) bool { return d.name == "_" || d.name == "init" && d.of == "" })
}

func appendSpec(out []declared, spec ast.Spec) []declared {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			out = append(out, declared{name: n.Name})
		}
	case *ast.TypeSpec:
		out = append(out, declared{name: spec.Name.Name})
		var fields *ast.FieldList
		switch t := spec.Type.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		}
		if fields == nil {
			break
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				out = append(out, declared{name: n.Name, of: spec.Name.Name})
			}
		}
	}
	return out
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
