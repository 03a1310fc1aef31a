package tools

import (
	"cmp"
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type hierarchyIn struct {
	Class   string `json:"class" jsonschema:"a type: Name or pkg.Name; pkg is a package's name, import path or the end of its path, as in io.Reader or net/http.Handler; error is the predeclared one"`
	Package string `json:"package,omitempty" jsonschema:"where to look: an import path, a directory relative to the workspace (./host) or a package name; default: the package that class names, else the workspace's packages"`
}

// hierarchy is the answer of class_hierarchy. All lists except embeds are sorted: the
// workspace first, then what it imports, then the standard library.
type hierarchy struct {
	Name          string      `json:"name"`
	Kind          string      `json:"kind" jsonschema:"struct, interface, basic, pointer, slice, array, map, chan or func"`
	Package       string      `json:"package,omitempty" jsonschema:"import path"`
	Embeds        []embedding `json:"embeds" jsonschema:"what the type embeds, and what that embeds, outermost first"`
	Satisfies     []relative  `json:"satisfies" jsonschema:"interfaces of the workspace and of the packages that it imports"`
	EmbeddedBy    []relative  `json:"embedded_by" jsonschema:"types of the workspace, and of the type's own package, that embed it"`
	ImplementedBy []relative  `json:"implemented_by" jsonschema:"for an interface: types of the workspace, and of the interface's own package, that satisfy it"`
	Omitted       int         `json:"omitted,omitempty" jsonschema:"how many types were left out of lists that are too long"`
	Errors        []string    `json:"errors,omitempty" jsonschema:"what in the workspace's declarations does not compile; the answer has what could be found out nevertheless"`
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

// maxRelatives bounds each list of an answer.
const maxRelatives = 200

func classHierarchy(w *check.Workspace) tool.Tool {
	return define(w, "class_hierarchy",
		"Shows how a Go type is related to others: what it embeds, which interfaces it (or a pointer to it) satisfies, "+
			"which types embed it, and for an interface which types implement it. "+
			"Use it before changing a type or an interface, or to find implementations.",
		findHierarchy, pluginsdk.Title("Show a Go type's relatives"), pluginsdk.Categories("introspection", "clos"),
		pluginsdk.Argument("class", nameLimit), pluginsdk.Argument("package", nameLimit))
}

var predeclaredError = types.Universe.Lookup("error").(*types.TypeName)

func findHierarchy(ctx context.Context, w *check.Workspace, in hierarchyIn) (hierarchy, error) {
	if in.Class == "error" && in.Package == "" {
		snapshot, err := w.Snapshot(ctx)
		if err != nil {
			return hierarchy{}, err
		}
		outlines, err := snapshot.Outlines(ctx, nil)
		if err != nil {
			return hierarchy{}, err
		}
		return newHierarchy(snapshot, outlines, predeclaredError), nil
	}
	f, s, err := lookup.Find(ctx, w, in.Class, in.Package)
	if err != nil {
		return hierarchy{}, err
	}
	target, ok := s.Object.(*types.TypeName)
	if !ok {
		return hierarchy{}, s.NotA("type")
	}
	outlines, err := f.Snapshot.Outlines(ctx, s.Package.Node)
	if err != nil {
		return hierarchy{}, err
	}
	if found := outlines.Type(s.Package.Node.Path, target.Name()); found != nil {
		target = found
	} else {
		outlines = s.Package.Outlines()
	}
	return newHierarchy(f.Snapshot, outlines, target), nil
}

// relativeFinder finds the relatives of one type.
type relativeFinder struct {
	snapshot *check.Snapshot
	outlines *check.Outlines
	target   *types.TypeName
	out      hierarchy
}

func newHierarchy(snapshot *check.Snapshot, outlines *check.Outlines, target *types.TypeName) hierarchy {
	f := &relativeFinder{snapshot: snapshot, outlines: outlines, target: target, out: hierarchy{
		Name: target.Name(), Kind: typeutil.TypeKind(target.Type()), Errors: outlines.Errors,
		Embeds: []embedding{}, Satisfies: []relative{}, EmbeddedBy: []relative{}, ImplementedBy: []relative{},
	}}
	if target.Pkg() != nil {
		f.out.Package = target.Pkg().Path()
	}
	t := types.Unalias(target.Type())
	f.addEmbedded(t, nil, map[types.Type]bool{})
	f.addSatisfied(t)
	f.addDescendants(t)
	for _, list := range []*[]relative{&f.out.Satisfies, &f.out.EmbeddedBy, &f.out.ImplementedBy} {
		slices.SortFunc(*list, relative.compare)
		if over := len(*list) - maxRelatives; over > 0 {
			*list, f.out.Omitted = (*list)[:maxRelatives], f.out.Omitted+over
		}
	}
	return f.out
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
	if within[t] || len(f.out.Embeds) >= maxRelatives {
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
		f.out.Embeds = append(f.out.Embeds, one)
		f.addEmbedded(types.Unalias(base), path, within)
	}
}

// addSatisfied adds the interfaces that t satisfies.
func (f *relativeFinder) addSatisfied(t types.Type) {
	if i, ok := t.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		return // a constraint has no values
	}
	for _, candidate := range f.interfaces() {
		iface := candidate.Type().(*types.Named)
		if named, ok := t.(*types.Named); ok && named.Origin() == iface.Origin() {
			continue
		}
		if as, pointer, ok := typeutil.Satisfies(t, iface); ok {
			one := f.relative(candidate, pointer)
			one.Name = types.TypeString(as, typeutil.Printer{Pkg: candidate.Pkg()}.Qualify)
			f.out.Satisfies = append(f.out.Satisfies, one)
		}
	}
}

// interfaces returns all interfaces that a type of the workspace could be meant to
// satisfy. The internal packages of other modules are not among them.
func (f *relativeFinder) interfaces() []*types.TypeName {
	out := []*types.TypeName{predeclaredError}
	add := func(pkg *types.Package, all bool) {
		for _, obj := range declaredTypes(pkg) {
			i, ok := obj.Type().Underlying().(*types.Interface)
			if ok && i.IsMethodSet() && (all || obj.Exported()) {
				out = append(out, obj)
			}
		}
	}
	for _, pkg := range f.outlines.Local {
		add(pkg, true)
	}
	for _, pkg := range f.outlines.Imported {
		if !check.IsInternal(pkg.Path()) || pkg == f.target.Pkg() {
			add(pkg, false)
		}
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

// addDescendants adds the types of the workspace, and of t's package, that embed or
// implement t.
func (f *relativeFinder) addDescendants(t types.Type) {
	named, ok := t.(*types.Named)
	if !ok {
		return
	}
	packages := f.outlines.Local
	if home := f.target.Pkg(); home != nil && !slices.Contains(packages, home) {
		packages = append(slices.Clip(packages), home)
	}
	for _, pkg := range packages {
		for _, obj := range declaredTypes(pkg) {
			if other, ok := obj.Type().(*types.Named); ok && other != named {
				f.addDescendant(named, other)
			}
		}
	}
}

func (f *relativeFinder) addDescendant(t, other *types.Named) {
	list, _ := embedded(other)
	for _, e := range list {
		_, pointer := types.Unalias(e).(*types.Pointer)
		if n, ok := types.Unalias(typeutil.Deref(e)).(*types.Named); ok && n.Origin() == t.Origin() {
			f.out.EmbeddedBy = append(f.out.EmbeddedBy, f.relative(other.Obj(), pointer))
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
		f.out.ImplementedBy = append(f.out.ImplementedBy, f.relative(other.Obj(), pointer))
	}
}

func (f *relativeFinder) relative(obj *types.TypeName, pointer bool) relative {
	out := relative{Name: obj.Name(), Kind: typeutil.TypeKind(obj.Type()), Pointer: pointer}
	if obj.Pkg() == nil { // error
		out.distance = (&check.Node{Std: true}).Distance()
		return out
	}
	out.Package = obj.Pkg().Path()
	out.Position = f.snapshot.Root.Position(f.outlines.Position(obj), out.Package)
	out.distance = f.distance(out.Package)
	return out
}

func (f *relativeFinder) distance(path string) int {
	n := f.snapshot.Graph.Nodes[path]
	if n == nil {
		first, _, _ := strings.Cut(path, "/")
		n = &check.Node{Std: !strings.Contains(first, ".")}
	}
	return n.Distance()
}
