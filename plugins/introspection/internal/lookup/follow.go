package lookup

import (
	"go/types"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// follow finds a symbol by its members, one after the other. It returns how far they
// lead, and those that are left; the symbol is nil if the package does not have the name.
func follow(pkg *check.Package, p parsed) (*Symbol, []string) {
	obj := pkg.Types.Scope().Lookup(p.name)
	if obj == nil {
		return nil, append([]string{p.name}, p.members...)
	}
	s := &Symbol{Package: pkg, Object: obj, name: p.name}
	for i, name := range p.members {
		next := s.member(name)
		if next == nil {
			return s, p.members[i:]
		}
		s = next
	}
	return s, nil
}

// member returns what a name selects from the symbol: a method or a field, a promoted one
// too, a part of a type without a name, or what a function declares.
func (s *Symbol) member(name string) *Symbol {
	out := &Symbol{Package: s.Package, name: s.name + "." + name}
	switch obj := s.Object.(type) {
	case *types.Const, *types.Builtin:
		return nil
	case *types.Func:
		if out.Object = namedPart(obj.Signature(), name); out.Object == nil {
			out.Object = localType(s.Package, obj, name)
		}
	default:
		t := obj.Type()
		out.Object, out.Index, _ = types.LookupFieldOrMethod(t, true, s.Package.Types, name)
		if out.Of = t; out.Object == nil {
			out.Of, out.Index = nil, nil
			if out.Object = namedPart(t, name); out.Object == nil {
				out.Object = namedPart(t.Underlying(), name)
			}
		}
	}
	if out.Object == nil {
		return nil
	}
	return out
}

func namedPart(t types.Type, name string) types.Object {
	for _, part := range typeutil.Parts(t) {
		if part.Name() == name {
			return part
		}
	}
	return nil
}

// localType returns a type that a function declares. If there are several of the name,
// it is the first.
func localType(p *check.Package, fn *types.Func, name string) types.Object {
	body := p.Body(fn)
	if body == nil || p.Info == nil {
		return nil
	}
	var found types.Object
	for id, obj := range p.Info.Defs {
		t, ok := obj.(*types.TypeName)
		if !ok || id.Name != name || id.Pos() < body.Pos() || id.Pos() >= body.End() {
			continue
		}
		if _, isParameter := t.Type().(*types.TypeParam); !isParameter && (found == nil || t.Pos() < found.Pos()) {
			found = t
		}
	}
	return found
}
