package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checker type-checks a package together with what was generated for it. It
// answers what the compiler would, sooner and with the types. The package's own
// function bodies are left out: they are the compiler's to check.
type checker struct {
	graph  *graph
	target *target
	fset   *token.FileSet
	files  []*ast.File // the package's own
	form   int
}

// parsePackage reads the target's own files.
func parsePackage(g *graph, t *target) (*checker, error) {
	c := &checker{graph: g, target: t, fset: token.NewFileSet()}
	l := g.packages[t.name]
	if t.alone() || l == nil {
		return c, nil
	}
	names := l.CompiledGoFiles
	if len(names) == 0 {
		names = l.GoFiles
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.Dir, name)
		}
		file, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("package %s does not compile: %w", t.name, err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				fn.Body = emptied(fn)
			}
		}
		c.files = append(c.files, file)
	}
	return c, nil
}

// emptied is what stands for a body: nothing, where there need not be one.
func emptied(fn *ast.FuncDecl) *ast.BlockStmt {
	switch {
	case fn.Type.TypeParams != nil:
		return fn.Body
	case fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "main"):
		return &ast.BlockStmt{Lbrace: fn.Body.Lbrace, Rbrace: fn.Body.Rbrace}
	}
	return nil
}

func (c *checker) declared() map[string]bool {
	out := map[string]bool{}
	for _, f := range c.files {
		maps.Copy(out, topLevel(f))
	}
	return out
}

// checked is what was found out.
type checked struct {
	problems *problems // in forms
	own      []string  // in the package itself
	values   []typed   // what the body shows
	void     bool      // what the body is to show has no value
}

func (c *checker) check(gen generated) (checked, error) {
	out := checked{problems: &problems{}}
	files := slices.Clone(c.files)
	var body *ast.File
	for _, name := range slices.Sorted(maps.Keys(gen)) {
		file, err := parser.ParseFile(c.fset, name, gen[name], parser.SkipObjectResolution)
		if err != nil {
			return out, fmt.Errorf("the form cannot be made a part of the package: %w", err)
		}
		if name == bodyFile {
			body = file
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{
		Importer: importer.ForCompiler(c.fset, "gc", c.export),
		Sizes:    types.SizesFor("gc", build.Default.GOARCH),
		Error:    func(err error) { c.note(err, &out) },
	}
	if c.target.lang != "" {
		conf.GoVersion = "go" + c.target.lang
	}
	_, _ = conf.Check(c.target.name, c.fset, files, info) // errors went to note
	out.values, out.void = shownTypes(body, info)
	return out, nil
}

func (c *checker) note(err error, out *checked) {
	var e types.Error
	if !errors.As(err, &e) {
		return
	}
	pos := c.fset.Position(e.Pos)
	if one, ok := locate(pos.String(), c.form); ok {
		one.Message = e.Msg
		out.problems.add(one)
		return
	}
	switch {
	case isOurs(pos.Filename):
		if !e.Soft { // such as the same name declared and imported
			out.problems.add(problem{Message: e.Msg})
		}
	case !e.Soft:
		out.own = append(out.own, fmt.Sprintf("%s: %s", pos, e.Msg))
	}
}

// export opens the export data of an import, as the importer asks for it.
func (c *checker) export(path string) (io.ReadCloser, error) {
	if own := c.graph.packages[c.target.name]; own != nil && own.ImportMap[path] != "" {
		path = own.ImportMap[path]
	}
	l := c.graph.packages[path]
	if l == nil || l.Export == "" {
		return nil, fmt.Errorf("package %s was not compiled", path)
	}
	return os.Open(l.Export)
}

// isOurs reports whether a file is a generated one.
func isOurs(name string) bool {
	return strings.HasPrefix(name, filePrefix) || strings.Contains(name, ourPrefix)
}

// typed is a type as it is shown.
type typed struct {
	name        string
	isInterface bool
}

func typeOf(t types.Type) typed {
	return typed{types.TypeString(t, func(p *types.Package) string { return p.Name() }), types.IsInterface(t)}
}

// shownTypes are the types of what the body hands to [showFunc].
func shownTypes(body *ast.File, info *types.Info) (out []typed, void bool) {
	if body == nil {
		return nil, false
	}
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != showFunc {
			return true
		}
		for _, arg := range call.Args {
			tv, ok := info.Types[arg]
			if !ok {
				continue
			}
			if tv.IsVoid() {
				void = true
				continue
			}
			if tuple, ok := tv.Type.(*types.Tuple); ok {
				for v := range tuple.Variables() {
					out = append(out, typeOf(v.Type()))
				}
				continue
			}
			out = append(out, typeOf(tv.Type))
		}
		return true
	})
	return out, void
}
