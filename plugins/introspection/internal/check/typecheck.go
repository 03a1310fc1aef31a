package check

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

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

// check type-checks a package. It leaves out what does not compile, and returns the
// errors. An outline is checked without the bodies of functions, which importers do
// not need.
func (b *batch) check(ctx context.Context, n *Node, isOutline bool) (*checked, error) {
	imported := map[string]*types.Package{}
	for _, path := range source.SortedKeys(n.imports) {
		if pkg, err := b.imported(ctx, n.imports[path]); err == nil {
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
	c := &checked{pkg: types.NewPackage(n.Path, ""), fset: b.parser.fset}
	for _, path := range n.Files {
		f := b.parser.parse(path)
		if f.syntax != nil {
			c.syntax = append(c.syntax, f.syntax)
		}
		c.errors = append(c.errors, f.errors...)
	}
	if !isOutline {
		c.info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
		}
	}
	config := &types.Config{
		GoVersion: n.goVersion, IgnoreFuncBodies: isOutline, FakeImportC: true, Sizes: b.graph.sizes,
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if pkg := imported[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("could not import %s", path)
		}),
		Error: c.addError,
	}
	return c, c.run(config)
}

func (c *checked) addError(err error) {
	if e, ok := errors.AsType[types.Error](err); ok {
		position := e.Fset.Position(e.Pos).String()
		c.errors = append(c.errors, packages.Error{Pos: position, Msg: e.Msg, Kind: packages.TypeError})
	}
}

// run keeps a panic of the type checker on broken code from ending the process.
func (c *checked) run(config *types.Config) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while checking package %s: %v", c.pkg.Path(), v)
		}
	}()
	_ = types.NewChecker(config, c.fset, c.pkg, c.info).Files(c.syntax) // config.Error gets the errors
	return nil
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// importsC reports whether a file has to be translated by the go command.
func (c *checked) importsC() bool {
	return slices.ContainsFunc(c.syntax, func(f *ast.File) bool {
		return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
	})
}
