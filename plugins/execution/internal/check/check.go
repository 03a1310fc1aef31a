// Package check finds out what a form means in a package: the imports that its
// names need, see [Resolver], and its types, see [Checker].
package check

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

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Checker type-checks a package together with the files generated for a form. It
// reports what the compiler would, sooner and with the types. It leaves out the
// bodies of the package's own functions, which the compiler checks.
type Checker struct {
	Files []*ast.File // the package's own

	target *target.Target
	fset   *token.FileSet
}

// NewChecker parses the target's own files, with its tests if they are a part of it. An
// error means that this is not possible.
func NewChecker(g *gocmd.Graph, t *target.Target, tests bool) (*Checker, error) {
	c := &Checker{target: t, fset: token.NewFileSet()}
	p := g.Packages[t.Path]
	if t.IsEmpty() || p == nil {
		return c, nil
	}
	names := p.CompiledGoFiles
	if len(names) == 0 {
		names = p.GoFiles
	}
	if tests {
		names = slices.Concat(names, p.TestGoFiles)
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				dropBody(fn)
			}
		}
		c.Files = append(c.Files, file)
	}
	return c, nil
}

// dropBody drops a function's body unless its declaration needs one.
func dropBody(fn *ast.FuncDecl) {
	switch {
	case fn.Type.TypeParams != nil:
	case fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "main"):
		fn.Body.List = nil
	default:
		fn.Body = nil
	}
}

// Declared returns the names that the package's own files declare, methods as Type.Method.
func (c *Checker) Declared() map[string]bool {
	out := map[string]bool{}
	for _, f := range c.Files {
		for name := range gocode.Declared(f) {
			out[name] = true
		}
	}
	return out
}

// Result is what a check found.
type Result struct {
	Problems form.Problems // in forms
	Own      []string      // errors in the package itself
	Types    []Type        // of the values that the body shows
	Void     bool          // the expression that the body shows has no value
}

// Type is the type of a value.
type Type struct {
	Name        string
	IsInterface bool
}

// Check checks the package with generated files, by name, for the form with a number.
func (c *Checker) Check(g *gocmd.Graph, generated map[string]string, number int) (Result, error) {
	var out Result
	files := slices.Clone(c.Files)
	var body *ast.File
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		file, err := parser.ParseFile(c.fset, name, generated[name], parser.SkipObjectResolution)
		if err != nil {
			return out, fmt.Errorf("the form cannot be made a part of the package: %w", err)
		}
		if name == program.BodyFile {
			body = file
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{
		Importer: importer.ForCompiler(c.fset, "gc", c.exportData(g)),
		Sizes:    types.SizesFor("gc", build.Default.GOARCH),
		Error:    func(err error) { out.add(err, c.fset, number) },
	}
	if c.target.Language != "" {
		conf.GoVersion = "go" + c.target.Language
	}
	_, _ = conf.Check(c.target.Path, c.fset, files, info) // errors went to conf.Error
	if body != nil {
		out.addTypes(body, info)
	}
	return out, nil
}

// exportData returns a function that opens the export data of an import.
func (c *Checker) exportData(g *gocmd.Graph) importer.Lookup {
	return func(path string) (io.ReadCloser, error) {
		if own := g.Packages[c.target.Path]; own != nil && own.ImportMap[path] != "" {
			path = own.ImportMap[path]
		}
		p := g.Packages[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("package %s was not compiled", path)
		}
		return os.Open(p.Export)
	}
}

// add adds an error of the type checker.
func (r *Result) add(err error, fset *token.FileSet, number int) {
	var e types.Error
	if !errors.As(err, &e) {
		return
	}
	pos := fset.Position(e.Pos)
	if one, ok := form.Locate(pos.String(), number); ok {
		one.Message = e.Msg
		r.Problems.Add(one)
		return
	}
	switch {
	case e.Soft:
	case program.IsGenerated(pos.Filename): // such as a name that is both declared and imported
		r.Problems.Add(form.Problem{Message: e.Msg})
	default:
		r.Own = append(r.Own, fmt.Sprintf("%s: %s", pos, e.Msg))
	}
}

// addTypes adds the types of what the body hands to [program.ShowFunc].
func (r *Result) addTypes(body *ast.File, info *types.Info) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != program.ShowFunc {
			return true
		}
		for _, arg := range call.Args {
			tv, ok := info.Types[arg]
			switch tuple, isTuple := tv.Type.(*types.Tuple); {
			case !ok:
			case tv.IsVoid():
				r.Void = true
			case isTuple:
				for v := range tuple.Variables() {
					r.Types = append(r.Types, typeOf(v.Type()))
				}
			default:
				r.Types = append(r.Types, typeOf(tv.Type))
			}
		}
		return true
	})
}

func typeOf(t types.Type) Type {
	return Type{types.TypeString(t, func(p *types.Package) string { return p.Name() }), types.IsInterface(t)}
}
