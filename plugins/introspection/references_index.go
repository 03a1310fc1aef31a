package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// index is what was learned from type-checking a package: where it uses which
// symbols. It holds no syntax.
type index struct {
	path   string
	pkg    *types.Package
	files  []string // absolute
	uses   map[key][]use
	tests  map[key]token.Position // what its test files declare
	errors []string               // what is wrong with the package, at most [maxErrors]

	// Uses of methods of interfaces, by the method's name.
	dynamic map[string][]dynamicUse
	// The types that have methods, by the names of these, that may be in an
	// interface: named ones, and structs without a name that embed.
	carriers map[string][]types.Type
}

// use is a place where a symbol is named.
type use struct {
	file, line, column int32 // file counts in [index.files]
	access             access
	function           string // what it stands in, such as T.M; empty: no function
}

// dynamicUse is a use of an interface's method.
type dynamicUse struct {
	use
	method *types.Func
	// What the method is called on: the interface, or the constraint of a type
	// parameter.
	on types.Type
}

// indexer collects an index.
type indexer struct {
	*index
	fset   *token.FileSet
	info   *types.Info
	keys   *keys
	file   int32
	at     string // the function that is walked
	inTest bool   // so is a test file
}

func (x *indexer) walk(f *ast.File) {
	x.file = int32(len(x.files))
	name := x.fset.PositionFor(f.Package, false).Filename
	x.files, x.inTest = append(x.files, name), strings.HasSuffix(name, "_test.go")
	for _, d := range f.Decls {
		x.at = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			x.at = functionName(fn)
		}
		ast.PreorderStack(d, nil, x.visit)
	}
}

func functionName(fn *ast.FuncDecl) string {
	if of := receiver(fn); of != "" {
		return of + "." + fn.Name.Name
	}
	return fn.Name.Name
}

func (x *indexer) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		if obj := x.info.Defs[n]; obj != nil && x.inTest {
			x.tests[x.keys.of(obj)] = x.fset.PositionFor(n.Pos(), false)
		}
		if obj := x.info.Uses[n]; obj != nil {
			x.use(n, obj, stack)
		}
		if name, ok := x.info.Defs[n].(*types.TypeName); ok {
			x.carry(name.Type())
		}
	case *ast.StructType:
		if t := x.info.TypeOf(n); t != nil {
			x.carry(t)
		}
	}
	return true
}

func (x *indexer) use(id *ast.Ident, obj types.Object, stack []ast.Node) {
	k := x.keys.of(obj)
	method, on := x.dispatch(id, obj, stack)
	if k == "" && method == nil {
		return
	}
	p := x.fset.PositionFor(id.Pos(), false)
	u := use{
		file: x.file, line: int32(p.Line), column: int32(p.Column), function: x.at,
		access: accessOf(obj, newPlace(x.info, id, stack)),
	}
	if k != "" {
		x.uses[k] = append(x.uses[k], u)
	}
	if method != nil {
		x.dynamic[method.Name()] = append(x.dynamic[method.Name()], dynamicUse{u, method, on})
	}
}

// dispatch finds the interface that a method is selected from; nil: it is not
// an interface's method.
func (x *indexer) dispatch(id *ast.Ident, obj types.Object, stack []ast.Node) (*types.Func, types.Type) {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil || len(stack) == 0 {
		return nil, nil
	}
	outer, ok := stack[len(stack)-1].(*ast.SelectorExpr)
	if !ok || outer.Sel != id {
		return nil, nil
	}
	sel := x.info.Selections[outer]
	if sel == nil {
		return nil, nil
	}
	on := sel.Recv()
	if way := sel.Index(); len(way) > 1 && structOf(on) != nil {
		s, at := fieldAt(on, way[:len(way)-1])
		if s == nil {
			return nil, nil
		}
		on = s.Field(at).Type()
	}
	if !types.IsInterface(on) {
		return nil, nil
	}
	return fn, on
}

// carry notes the methods that a type has, its own and promoted ones.
func (x *indexer) carry(t types.Type) {
	if types.IsInterface(t) {
		return
	}
	if _, ok := t.(*types.Alias); ok {
		return
	}
	set := methodsOf(t)
	for i := range set.Len() {
		name := set.At(i).Obj().Name()
		x.carriers[name] = append(x.carriers[name], t)
	}
}
