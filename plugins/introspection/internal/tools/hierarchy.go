package tools

import (
	"cmp"
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type hierarchyIn struct {
	Class   string `json:"class" jsonschema:"a type: Name or pkg.Name; pkg is a name, an import path or the end of one, as in io.Reader or net/http.Handler; error is the predeclared one"`
	Package string `json:"package,omitempty" jsonschema:"import path, directory (./host) or package name; default: what class names, else the workspace"`
	tests
	page
	build
}

// hierarchy is the answer of class_hierarchy. All lists except embeds are sorted: the
// workspace first, then what it imports, then the standard library. Limit and offset
// count through the lists.
type hierarchy struct {
	Name          string      `json:"name"`
	Kind          string      `json:"kind" jsonschema:"struct, interface, basic, pointer, slice, array, map, chan or func"`
	Package       string      `json:"package,omitempty" jsonschema:"import path"`
	Embeds        []embedding `json:"embeds" jsonschema:"what the type embeds, and what that embeds, outermost first"`
	Satisfies     []relative  `json:"satisfies" jsonschema:"interfaces of the workspace and of the packages that it imports"`
	EmbeddedBy    []relative  `json:"embedded_by" jsonschema:"types of the workspace and of the packages that it imports which embed it; of a type that is not in the standard library also those of all packages that these are built with"`
	ImplementedBy []relative  `json:"implemented_by" jsonschema:"for an interface: types of the same packages that satisfy it"`
	rest
	LeftOut string   `json:"left_out,omitempty" jsonschema:"the workspace's files that build constraints leave out, whose types are missing"`
	Errors  []string `json:"errors,omitempty" jsonschema:"what in the workspace's declarations does not compile; the answer has what could be found out nevertheless"`
}

type embedding struct {
	Type    string `json:"type" jsonschema:"as it is embedded, such as *Base"`
	Kind    string `json:"kind"`
	Package string `json:"package,omitempty" jsonschema:"import path"`
	Path    string `json:"path" jsonschema:"the path to it, as in Middle.Base"`
}

// relative is a type that is related to the one that is asked for.
type relative struct {
	Name     string `json:"name" jsonschema:"the name in its package; of a generic interface also the type arguments that fit"`
	Kind     string `json:"kind"`
	Package  string `json:"package,omitempty" jsonschema:"import path; missing for error"`
	Position string `json:"position,omitempty" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Pointer  bool   `json:"pointer,omitempty" jsonschema:"only a pointer to the type satisfies the interface, or a pointer is embedded"`

	distance int // see [check.Node.Distance]
}

// maxEmbedded bounds what a type embeds, which can double with each step.
const maxEmbedded = 200

func classHierarchy(w *check.Workspace) tool.Tool {
	return define(w, "class_hierarchy",
		"Shows how a Go type is related to others: what it embeds, which interfaces it (or a pointer to it) "+
			"satisfies, which types embed it, and of an interface which types implement it.",
		findHierarchy, append(pageArguments(maxLimit), pluginsdk.Title("Show a Go type's relatives"),
			pluginsdk.Categories("introspection", "clos"), testsArgument(), pluginsdk.Argument("class", nameLimit),
			pluginsdk.Argument("package", nameLimit))...)
}

var predeclaredError = types.Universe.Lookup("error").(*types.TypeName)

func findHierarchy(ctx context.Context, w *check.Workspace, in hierarchyIn) (hierarchy, error) {
	if in.Class == "error" && in.Package == "" {
		snapshot, err := w.Snapshot(ctx, "")
		if err != nil {
			return hierarchy{}, err
		}
		outlines, err := snapshot.Outlines(ctx, nil, in.included())
		if err != nil {
			return hierarchy{}, err
		}
		f := relativeFinder{finder: lookup.Finder{Snapshot: snapshot}, outlines: outlines, target: predeclaredError}
		return f.find(in), nil
	}
	found, s, err := lookup.Find(ctx, w, in.Class, in.Package)
	if err != nil {
		return hierarchy{}, err
	}
	target, ok := s.Object.(*types.TypeName)
	if !ok {
		return hierarchy{}, s.NotA("type")
	}
	outlines, err := found.Snapshot.Outlines(ctx, s.Package.Node, in.included() || s.Package.Node.TestOf != "")
	if err != nil {
		return hierarchy{}, err
	}
	f := relativeFinder{finder: found, outlines: outlines, target: target}
	if t := outlines.Type(s.Package.Node.Path, target.Name()); t != nil && !s.IsLocal() {
		f.target = t
	} else if t := outlines.TypeIn(s.Package.Node, target.Name()); t != nil && !s.IsLocal() {
		f.target, f.from = t, t.Pkg()
	} else {
		f.outlines = s.Package.Outlines()
	}
	return f.find(in), nil
}

// relativeFinder finds the relatives of one type.
type relativeFinder struct {
	finder   lookup.Finder
	outlines *check.Outlines
	target   *types.TypeName
	from     *types.Package // with test files, if these declare the target

	embeds                               []embedding
	satisfies, embeddedBy, implementedBy []relative
}

func (f *relativeFinder) find(in hierarchyIn) hierarchy {
	t := types.Unalias(f.target.Type())
	f.addEmbedded(t, nil, map[types.Type]bool{})
	f.addSatisfied(t)
	f.addDescendants(t)
	f.addTests()
	for _, list := range [][]relative{f.satisfies, f.embeddedBy, f.implementedBy} {
		slices.SortFunc(list, relative.compare)
	}
	out := hierarchy{
		Name: f.target.Name(), Kind: typeutil.TypeKind(f.target.Type()), Errors: f.outlines.Errors,
		Embeds: []embedding{}, Satisfies: []relative{}, EmbeddedBy: []relative{}, ImplementedBy: []relative{},
	}
	if f.target.Pkg() != nil {
		out.Package = f.target.Pkg().Path()
	}
	pages := newPager(in.page, maxLimit)
	for _, e := range f.embeds {
		add(pages, &out.Embeds, e)
	}
	for _, l := range []struct {
		to   *[]relative
		from []relative
	}{{&out.Satisfies, f.satisfies}, {&out.EmbeddedBy, f.embeddedBy}, {&out.ImplementedBy, f.implementedBy}} {
		for _, r := range l.from {
			add(pages, l.to, r)
		}
	}
	out.rest = pages.rest()
	if files := f.finder.Snapshot.LeftOut(); len(files) > 0 {
		out.LeftOut = f.finder.LeftOut(lookup.Files(files))
	}
	return out
}

func (r relative) compare(other relative) int {
	return cmp.Or(
		cmp.Compare(r.distance, other.distance),
		strings.Compare(r.Package, other.Package),
		strings.Compare(r.Name, other.Name),
	)
}

// embedded returns the types that a struct or an interface embeds, with the names that
// select them.
func embedded(t types.Type) (embedded []types.Type, names []string) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Embedded() {
				embedded, names = append(embedded, f.Type()), append(names, f.Name())
			}
		}
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			name := types.TypeString(e, func(*types.Package) string { return "" })
			embedded, names = append(embedded, e), append(names, name)
		}
	}
	return embedded, names
}

// addEmbedded adds what t embeds, and what that embeds.
func (f *relativeFinder) addEmbedded(t types.Type, path []string, within map[types.Type]bool) {
	if within[t] || len(f.embeds) >= maxEmbedded {
		return
	}
	within[t] = true
	defer delete(within, t)
	list, names := embedded(t)
	for i, e := range list {
		base, path := typeutil.Deref(e), append(slices.Clip(path), names[i])
		one := embedding{
			Type: typeutil.Printer{Pkg: f.target.Pkg()}.Type(e), Kind: typeutil.TypeKind(base),
			Path: strings.Join(path, "."),
		}
		if named, ok := types.Unalias(base).(*types.Named); ok && named.Obj().Pkg() != nil {
			one.Package = named.Obj().Pkg().Path()
		}
		f.embeds = append(f.embeds, one)
		f.addEmbedded(types.Unalias(base), path, within)
	}
}

// addSatisfied adds the interfaces that t satisfies.
func (f *relativeFinder) addSatisfied(t types.Type) {
	for _, candidate := range f.interfaces() {
		f.addIfSatisfied(t, candidate)
	}
}

func (f *relativeFinder) addIfSatisfied(t types.Type, candidate *types.TypeName) {
	if i, ok := t.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		return // a constraint has no values
	}
	iface := candidate.Type().(*types.Named)
	if named, ok := t.(*types.Named); ok && named.Origin() == iface.Origin() {
		return
	}
	if as, pointer, ok := typeutil.Satisfies(t, iface); ok {
		one := f.relative(candidate, pointer)
		one.Name = types.TypeString(as, typeutil.Printer{Pkg: candidate.Pkg()}.Qualify)
		f.satisfies = append(f.satisfies, one)
	}
}

// interfaces returns all interfaces that a type of the workspace could be meant to
// satisfy.
func (f *relativeFinder) interfaces() []*types.TypeName {
	out := []*types.TypeName{predeclaredError}
	for _, obj := range f.candidates(f.outlines.Imported) {
		if isMethodSet(obj) {
			out = append(out, obj)
		}
	}
	return out
}

// isMethodSet reports whether a type is an interface that values can have.
func isMethodSet(obj *types.TypeName) bool {
	i, ok := obj.Type().Underlying().(*types.Interface)
	return ok && i.IsMethodSet()
}

// candidates returns the types that may be related to the target: all of the workspace
// and of the target's package, and the exported ones of other packages. The internal
// packages of other modules are not among these.
func (f *relativeFinder) candidates(others []*types.Package) []*types.TypeName {
	var out []*types.TypeName
	home := f.target.Pkg()
	add := func(pkg *types.Package, all bool) {
		pkg = f.outlines.SeenFrom(f.from, pkg.Path())
		for _, obj := range declaredTypes(pkg) {
			if all || pkg == home || obj.Exported() {
				out = append(out, obj)
			}
		}
	}
	for _, pkg := range f.outlines.Local {
		add(pkg, true)
	}
	for _, pkg := range others {
		if !gocode.IsInternal(pkg.Path()) || pkg == home {
			add(pkg, false)
		}
	}
	if f.from != nil && f.outlines.SeenFrom(nil, f.from.Path()) == nil {
		add(f.from, true) // a package of tests, which nothing imports
	}
	return out
}

// declaredTypes returns the types that a package declares, by name, without aliases.
func declaredTypes(pkg *types.Package) []*types.TypeName {
	var out []*types.TypeName
	for _, name := range pkg.Scope().Names() {
		if obj, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !obj.IsAlias() {
			out = append(out, obj)
		}
	}
	return out
}

// addDescendants adds the types that embed or implement t. If t is of the standard
// library, those of packages that the workspace does not import itself are not of interest:
// hundreds of them satisfy error or fmt.Stringer.
func (f *relativeFinder) addDescendants(t types.Type) {
	named, ok := t.(*types.Named)
	if !ok {
		return
	}
	others := f.outlines.Imported
	if home := f.target.Pkg(); home != nil && f.distance(home.Path()) < farthest {
		others = slices.Concat(others, f.outlines.Further)
	}
	for _, obj := range f.candidates(others) {
		f.addDescendant(named, obj)
	}
}

// farthest is the distance of the standard library.
var farthest = (&check.Node{Std: true}).Distance()

// addTests adds the relatives that test files declare. Each package with test files may
// see the target in a variant of its own, which these have to be compared with.
func (f *relativeFinder) addTests() {
	for _, test := range f.outlines.Tests {
		if test == f.from {
			continue
		}
		target := f.target
		if pkg := target.Pkg(); pkg != nil {
			seen := f.outlines.SeenFrom(test, pkg.Path())
			if target, _ = seen.Scope().Lookup(target.Name()).(*types.TypeName); target == nil {
				continue
			}
		}
		t := types.Unalias(target.Type())
		for _, obj := range declaredTypes(test) {
			if !f.outlines.InTest(obj) {
				continue
			}
			if isMethodSet(obj) {
				f.addIfSatisfied(t, obj)
			}
			if named, ok := t.(*types.Named); ok {
				f.addDescendant(named, obj)
			}
		}
	}
}

func (f *relativeFinder) addDescendant(t *types.Named, obj *types.TypeName) {
	other, ok := obj.Type().(*types.Named)
	if !ok || other == t {
		return
	}
	list, _ := embedded(other)
	for _, e := range list {
		_, pointer := types.Unalias(e).(*types.Pointer)
		if n, ok := types.Unalias(typeutil.Deref(e)).(*types.Named); ok && n.Origin() == t.Origin() {
			f.embeddedBy = append(f.embeddedBy, f.relative(other.Obj(), pointer))
			break
		}
	}
	if !types.IsInterface(t) {
		return
	}
	if i, ok := other.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		return
	}
	if _, pointer, ok := typeutil.Satisfies(other, t); ok {
		f.implementedBy = append(f.implementedBy, f.relative(other.Obj(), pointer))
	}
}

func (f *relativeFinder) relative(obj *types.TypeName, pointer bool) relative {
	out := relative{Name: obj.Name(), Kind: typeutil.TypeKind(obj.Type()), Pointer: pointer}
	if obj.Pkg() == nil { // error
		out.distance = farthest
		return out
	}
	out.Package = obj.Pkg().Path()
	out.Position = f.finder.Snapshot.Root.Position(f.outlines.Position(obj), out.Package)
	out.distance = f.distance(out.Package)
	return out
}

func (f *relativeFinder) distance(path string) int {
	graph := f.finder.Snapshot.Graph
	n := graph.Nodes[path]
	if n == nil {
		n = graph.Nodes[strings.TrimSuffix(path, "_test")]
	}
	if n == nil {
		first, _, _ := strings.Cut(path, "/")
		n = &check.Node{Std: !strings.Contains(first, ".")}
	}
	return n.Distance()
}
