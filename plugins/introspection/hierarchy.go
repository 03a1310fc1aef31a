package main

import (
	"cmp"
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type hierarchyIn struct {
	Class   string `json:"class" jsonschema:"a type: Name or pkg.Name; pkg is a package's name, import path or the end of its path, as in io.Reader or net/http.Handler; error is the predeclared one"`
	Package string `json:"package,omitempty" jsonschema:"where to look: an import path, a directory relative to the workspace (./host) or a package name; default: the package that class names, else the workspace's packages"`
}

// hierarchy is what class_hierarchy answers. All lists but embeds are sorted:
// the workspace first, then what it imports, then the standard library.
type hierarchy struct {
	Name          string      `json:"name"`
	Kind          string      `json:"kind" jsonschema:"struct, interface, basic, pointer, slice, array, map, chan or func"`
	Package       string      `json:"package,omitempty" jsonschema:"import path"`
	Embeds        []embedding `json:"embeds" jsonschema:"what the type embeds, and what that embeds, outermost first"`
	Satisfies     []relative  `json:"satisfies" jsonschema:"interfaces of the workspace and of the packages that it imports"`
	EmbeddedBy    []relative  `json:"embedded_by" jsonschema:"types of the workspace, and of the type's own package, that embed it"`
	ImplementedBy []relative  `json:"implemented_by" jsonschema:"for an interface: types of the workspace, and of the interface's own package, that satisfy it"`
	Omitted       int         `json:"omitted,omitempty" jsonschema:"how many types were left out of lists that are too long"`
	Errors        []string    `json:"errors,omitempty" jsonschema:"what in the workspace's declarations does not compile; the answer is what could be found out all the same"`
}

type embedding struct {
	Type    string `json:"type" jsonschema:"as it is embedded, such as *Base"`
	Kind    string `json:"kind"`
	Package string `json:"package,omitempty" jsonschema:"import path"`
	Path    string `json:"path" jsonschema:"the way to it, as in Middle.Base"`
}

// relative is a type that is related to the one asked for.
type relative struct {
	Name     string `json:"name" jsonschema:"the name in its package; of a generic interface with the type arguments that fit"`
	Kind     string `json:"kind"`
	Package  string `json:"package,omitempty" jsonschema:"import path; missing for error"`
	Position string `json:"position,omitempty" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	Pointer  bool   `json:"pointer,omitempty" jsonschema:"only a pointer to the type satisfies the interface, or a pointer is embedded"`

	tier int
}

// maxRelatives bounds each list of an answer.
const maxRelatives = 200

func (w *workspace) classHierarchy() tool.Tool {
	return pluginsdk.Func("class_hierarchy",
		"Shows how a Go type is related to others: what it embeds, which interfaces it satisfies (itself or by pointer), which types embed it, "+
			"and for an interface which types implement it. Use it before changing a type or an interface, or to find implementations.",
		w.hierarchy,
		pluginsdk.Title("Show a Go type's relatives"), pluginsdk.Safe(), pluginsdk.Categories("introspection", "clos"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("class", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) hierarchy(ctx context.Context, in hierarchyIn) (hierarchy, error) {
	if in.Class == "error" && in.Package == "" {
		v, err := w.view(ctx)
		if err != nil {
			return hierarchy{}, err
		}
		u, err := v.universe(ctx, nil)
		if err != nil {
			return hierarchy{}, err
		}
		return v.relatives(u, predeclaredError), nil
	}
	v, s, err := w.subject(ctx, in.Class, in.Package)
	if err != nil {
		return hierarchy{}, err
	}
	if _, ok := s.object.(*types.TypeName); !ok {
		return hierarchy{}, s.notA("type")
	}
	u, err := v.universe(ctx, s.unit.node)
	if err != nil {
		return hierarchy{}, err
	}
	target := u.find(s.unit.PkgPath, s.object.Name())
	if target == nil {
		u, target = s.unit.alone(), s.object.(*types.TypeName)
	}
	return v.relatives(u, target), nil
}

var predeclaredError = types.Universe.Lookup("error").(*types.TypeName)

// kin collects the relatives of one type.
type kin struct {
	*view
	universe *universe
	target   *types.TypeName
	out      hierarchy
}

func (v *view) relatives(u *universe, target *types.TypeName) hierarchy {
	k := &kin{view: v, universe: u, target: target, out: hierarchy{
		Name: target.Name(), Kind: typeKind(target.Type()), Errors: u.broken,
		Embeds: []embedding{}, Satisfies: []relative{}, EmbeddedBy: []relative{}, ImplementedBy: []relative{},
	}}
	if target.Pkg() != nil {
		k.out.Package = target.Pkg().Path()
	}
	t := types.Unalias(target.Type())
	k.embeds(t, nil, map[types.Type]bool{})
	k.satisfied(t)
	k.descendants(t)
	for _, list := range []*[]relative{&k.out.Satisfies, &k.out.EmbeddedBy, &k.out.ImplementedBy} {
		slices.SortFunc(*list, relative.compare)
		if over := len(*list) - maxRelatives; over > 0 {
			*list, k.out.Omitted = (*list)[:maxRelatives], k.out.Omitted+over
		}
	}
	return k.out
}

func (r relative) compare(other relative) int {
	return cmp.Or(cmp.Compare(r.tier, other.tier), strings.Compare(r.Package, other.Package), strings.Compare(r.Name, other.Name))
}

// embedded are the types that a struct or an interface embeds, with the names
// that they can be reached by.
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

// embeds lists what lies within t, level by level in each branch.
func (k *kin) embeds(t types.Type, path []string, within map[types.Type]bool) {
	if within[t] || len(k.out.Embeds) >= maxRelatives {
		return
	}
	within[t] = true
	defer delete(within, t)
	list, names := embedded(t)
	for i, e := range list {
		way := append(slices.Clip(path), names[i])
		one := embedding{Type: printer{k.target.Pkg()}.typ(e), Kind: typeKind(pointee(e)), Path: strings.Join(way, ".")}
		if named, ok := types.Unalias(pointee(e)).(*types.Named); ok && named.Obj().Pkg() != nil {
			one.Package = named.Obj().Pkg().Path()
		}
		k.out.Embeds = append(k.out.Embeds, one)
		k.embeds(types.Unalias(pointee(e)), way, within)
	}
}

// satisfied lists the interfaces that t satisfies.
func (k *kin) satisfied(t types.Type) {
	if i, ok := t.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		return // there are no values of it
	}
	for _, candidate := range k.interfaces() {
		iface := candidate.Type().(*types.Named)
		if named, ok := t.(*types.Named); ok && named.Origin() == iface.Origin() {
			continue
		}
		if as, pointer, ok := satisfies(t, iface); ok {
			one := k.relative(candidate, pointer)
			one.Name = types.TypeString(as, printer{candidate.Pkg()}.qualify)
			k.out.Satisfies = append(k.out.Satisfies, one)
		}
	}
}

// interfaces are all that a type of the workspace may be asked to satisfy. What
// lies in other modules' internal packages is of use to nobody here.
func (k *kin) interfaces() []*types.TypeName {
	out := []*types.TypeName{predeclaredError}
	collect := func(pkg *types.Package, all bool) {
		for _, obj := range declaredTypes(pkg) {
			i, ok := obj.Type().Underlying().(*types.Interface)
			if ok && i.IsMethodSet() && (all || obj.Exported()) {
				out = append(out, obj)
			}
		}
	}
	for _, pkg := range k.universe.local {
		if pkg != nil {
			collect(pkg, true)
		}
	}
	for path, pkg := range k.universe.outside.pkgs {
		if n := (&node{path: path}); !n.hidden() || pkg == k.target.Pkg() {
			collect(pkg, false)
		}
	}
	return out
}

// descendants lists the types that embed t, or implement it.
func (k *kin) descendants(t types.Type) {
	named, ok := t.(*types.Named)
	if !ok {
		return
	}
	for _, pkg := range k.universe.near(k.target.Pkg()) {
		for _, obj := range declaredTypes(pkg) {
			other, ok := obj.Type().(*types.Named)
			if !ok || other == named {
				continue
			}
			k.descendant(named, other)
		}
	}
}

func (k *kin) descendant(t, other *types.Named) {
	list, _ := embedded(other)
	for _, e := range list {
		_, pointer := types.Unalias(e).(*types.Pointer)
		if n, ok := types.Unalias(pointee(e)).(*types.Named); ok && n.Origin() == t.Origin() {
			k.out.EmbeddedBy = append(k.out.EmbeddedBy, k.relative(other.Obj(), pointer))
			break
		}
	}
	if !types.IsInterface(t) {
		return
	}
	if i, ok := other.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		return
	}
	if _, pointer, ok := satisfies(other, t); ok {
		k.out.ImplementedBy = append(k.out.ImplementedBy, k.relative(other.Obj(), pointer))
	}
}

func (k *kin) relative(obj *types.TypeName, pointer bool) relative {
	out := relative{Name: obj.Name(), Kind: typeKind(obj.Type()), Pointer: pointer, tier: -1}
	if obj.Pkg() == nil {
		out.tier = (&node{std: true}).tier() // error belongs to the language
		return out
	}
	out.Package = obj.Pkg().Path()
	out.Position = k.position(k.universe.position(obj), out.Package)
	out.tier = k.tierOf(out.Package)
	return out
}

func (k *kin) tierOf(path string) int {
	if n := k.graph.nodes[path]; n != nil {
		return n.tier()
	}
	first, _, _ := strings.Cut(path, "/")
	return (&node{std: !strings.Contains(first, ".")}).tier()
}
