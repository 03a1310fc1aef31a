package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"
)

// parsed is a file as one round of checking read it.
type parsed struct {
	once    sync.Once
	syntax  *ast.File // nil: it cannot be read
	outline stamp     // stands for the file without the bodies of its functions
	errors  []packages.Error
}

// files are parsed once a round, for all packages that they are part of. It is
// safe for concurrent use.
type files struct {
	fset   *token.FileSet
	mu     sync.Mutex
	parsed map[string]*parsed
}

func (f *files) get(path string) *parsed {
	f.mu.Lock()
	p := f.parsed[path]
	if p == nil {
		p = &parsed{}
		f.parsed[path] = p
	}
	f.mu.Unlock()
	p.once.Do(func() { p.read(f.fset, path) })
	return p
}

func (p *parsed) read(fset *token.FileSet, path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		p.errors = append(p.errors, packages.Error{Msg: err.Error(), Kind: packages.ParseError})
		return
	}
	p.syntax, err = parser.ParseFile(fset, path, content, parser.ParseComments|parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) {
		for _, e := range list {
			p.errors = append(p.errors, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
	}
	p.outline = outline(fset, p.syntax, content)
}

// outline stands for all of a file that its importers can see the effects of:
// what it declares, and in which lines.
func outline(fset *token.FileSet, f *ast.File, content []byte) stamp {
	sum := newStamper()
	from := 0
	if f != nil {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			begin, end := fset.PositionFor(fn.Body.Pos(), false).Offset, fset.PositionFor(fn.Body.End(), false).Offset
			if from <= begin && begin <= end && end <= len(content) {
				sum.Write(content[from:begin])
				sum.number(int64(bytes.Count(content[begin:end], []byte("\n"))))
				from = end
			}
		}
	}
	sum.Write(content[from:])
	return sum.stamp()
}

// checked is a package after type-checking.
type checked struct {
	pkg    *types.Package
	fset   *token.FileSet
	syntax []*ast.File
	info   *types.Info // nil for an outline
	errors []packages.Error
}

// cores bounds how many packages are checked at once, in all workspaces of the
// process.
var cores = make(chan struct{}, runtime.GOMAXPROCS(0))

// check type-checks a package. What does not compile is left out, and said in
// the errors. An outline is checked without the bodies of functions, which is
// all that importers need.
func (r *round) check(ctx context.Context, n *variant, isOutline bool) (*checked, error) {
	imported := map[string]*types.Package{}
	for _, path := range sortedKeys(n.imports) {
		if pkg, err := r.imported(ctx, n.imports[path]); err == nil {
			imported[path] = pkg
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	select {
	case cores <- struct{}{}:
		defer func() { <-cores }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := &checked{pkg: types.NewPackage(n.path, ""), fset: r.files.fset}
	for _, path := range n.files {
		p := r.files.get(path)
		if p.syntax != nil {
			out.syntax = append(out.syntax, p.syntax)
		}
		out.errors = append(out.errors, p.errors...)
	}
	if !isOutline {
		out.info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
			Scopes: map[ast.Node]*types.Scope{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			FileVersions: map[*ast.File]string{},
		}
	}
	config := &types.Config{
		GoVersion: n.goVersion, IgnoreFuncBodies: isOutline, FakeImportC: true, Sizes: r.vs.sizes,
		Importer: importer(func(path string) (*types.Package, error) {
			if pkg := imported[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("could not import %s", path)
		}),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) {
				out.errors = append(out.errors, packages.Error{Pos: e.Fset.Position(e.Pos).String(), Msg: e.Msg, Kind: packages.TypeError})
			}
		},
	}
	return out, out.run(config)
}

// run lets no flaw of the type checker on broken code end the process.
func (c *checked) run(config *types.Config) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while checking package %s: %v", c.pkg.Path(), v)
		}
	}()
	_ = types.NewChecker(config, c.fset, c.pkg, c.info).Files(c.syntax) // config.Error hears of it
	return nil
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

// index collects the uses of symbols in a package.
func (r *round) index(ctx context.Context, n *variant) (*index, error) {
	c, err := r.check(ctx, n, false)
	if err != nil {
		return nil, err
	}
	x := &indexer{
		index: &index{
			path: n.path, pkg: c.pkg, uses: map[key][]use{}, tests: map[key]token.Position{}, dynamic: map[string][]dynamicUse{}, carriers: map[string][]types.Type{},
		},
		fset: c.fset, info: c.info, keys: &r.keys,
	}
	for _, f := range c.syntax {
		x.walk(f)
	}
	x.errors = r.faults(c.described(n, r.vs))
	return x.index, nil
}

// described is a checked package as the loader of packages would give it.
func (c *checked) described(n *variant, vs *variants) *packages.Package {
	out := &packages.Package{
		ID: n.id, PkgPath: n.path, Name: c.pkg.Name(), Dir: n.dir, GoFiles: n.files, CompiledGoFiles: n.files,
		Fset: c.fset, Syntax: c.syntax, Types: c.pkg, TypesInfo: c.info, TypesSizes: vs.sizes,
		Imports: n.nowhere, Errors: append(slices.Clone(n.trouble), c.errors...),
	}
	return out
}

// usesC reports whether a file needs the go command to make Go of it.
func (c *checked) usesC() bool {
	return slices.ContainsFunc(c.syntax, func(f *ast.File) bool {
		return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
	})
}
