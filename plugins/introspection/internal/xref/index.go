package xref

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// Index has the uses of symbols in one package. It holds no syntax.
type Index struct {
	Types  *types.Package
	Errors []string // what is wrong with the package

	files []string // absolute
	uses  map[Key][]use

	// The calls and other uses of methods of interfaces, by the method's name.
	dynamic map[string][]dynamicUse
	// The types that may be in an interface, by the names of their methods: named
	// types, and structs without a name that embed.
	implementers map[string][]types.Type
}

// use is a place where a symbol is named.
type use struct {
	file, line, column int32 // file counts in Index.files
	access             Access
	function           string // the function around it, such as T.M; empty at package level
}

// dynamicUse is a use of an interface's method.
type dynamicUse struct {
	use
	method *types.Func
	key    Key // of the method
	// The type that the method is selected from: the interface, or the constraint of
	// a type parameter.
	on types.Type
}

// NewIndex collects the uses of symbols in the files of a package, whose types,
// definitions, uses and selections are in info.
func NewIndex(
	pkg *types.Package, fset *token.FileSet, files []*ast.File, info *types.Info, keys *Keys, errors []string,
) *Index {
	b := &builder{
		index: &Index{
			Types: pkg, Errors: errors, uses: map[Key][]use{},
			dynamic: map[string][]dynamicUse{}, implementers: map[string][]types.Type{},
		},
		fset: fset, info: info, keys: keys,
	}
	for _, f := range files {
		b.addFile(f)
	}
	return b.index
}

// Path returns the package's import path.
func (x *Index) Path() string { return x.Types.Path() }

// builder fills an index.
type builder struct {
	index    *Index
	fset     *token.FileSet
	info     *types.Info
	keys     *Keys
	file     int32
	function string
}

func (b *builder) addFile(f *ast.File) {
	b.file = int32(len(b.index.files))
	name := b.fset.PositionFor(f.Package, false).Filename
	b.index.files = append(b.index.files, name)
	for _, d := range f.Decls {
		b.function = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			b.function = gocode.FuncName(fn)
		}
		ast.PreorderStack(d, nil, b.visit)
	}
}

func (b *builder) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		if obj := b.info.Uses[n]; obj != nil {
			b.addUse(n, obj, stack)
		}
		if name, ok := b.info.Defs[n].(*types.TypeName); ok {
			b.addImplementer(name.Type())
		}
	case *ast.StructType:
		if t := b.info.TypeOf(n); t != nil {
			b.addImplementer(t)
		}
	}
	return true
}

func (b *builder) addUse(id *ast.Ident, obj types.Object, stack []ast.Node) {
	k := b.keys.Of(obj)
	method, on := b.interfaceMethod(id, obj, stack)
	if k == "" && method == nil {
		return
	}
	p := b.fset.PositionFor(id.Pos(), false)
	u := use{
		file: b.file, line: int32(p.Line), column: int32(p.Column), function: b.function,
		access: accessOf(obj, newPlace(b.info, id, stack)),
	}
	if k != "" {
		b.index.uses[k] = append(b.index.uses[k], u)
	}
	if method != nil {
		b.index.dynamic[method.Name()] = append(b.index.dynamic[method.Name()], dynamicUse{u, method, k, on})
	}
}

// interfaceMethod returns the method that an identifier selects from an interface,
// and the interface. Both are nil for anything else.
func (b *builder) interfaceMethod(id *ast.Ident, obj types.Object, stack []ast.Node) (*types.Func, types.Type) {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil || len(stack) == 0 {
		return nil, nil
	}
	outer, ok := stack[len(stack)-1].(*ast.SelectorExpr)
	if !ok || outer.Sel != id {
		return nil, nil
	}
	sel := b.info.Selections[outer]
	if sel == nil {
		return nil, nil
	}
	on := sel.Recv()
	if path := sel.Index(); len(path) > 1 && typeutil.Struct(on) != nil {
		s, at := typeutil.FieldAt(on, path[:len(path)-1])
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

// addImplementer adds a type under the names of its methods, including promoted
// ones.
func (b *builder) addImplementer(t types.Type) {
	if types.IsInterface(t) {
		return
	}
	if _, ok := t.(*types.Alias); ok {
		return
	}
	set := typeutil.MethodSet(t)
	for i := range set.Len() {
		name := set.At(i).Obj().Name()
		b.index.implementers[name] = append(b.index.implementers[name], t)
	}
}
