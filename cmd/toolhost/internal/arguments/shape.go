package arguments

import (
	"slices"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxDepth bounds how deep unions are followed.
const maxDepth = 64

// shape is what a schema says about the form of a value, as far as a command line needs it.
// Where a schema has alternatives, it is that of all of them together: the host judges.
type shape struct {
	root        any      // the whole schema, as all parts of one a value of [jsontree.Member]
	types       []string // JSON types that the value may have; empty: the schema does not say
	description string
	values      []any // of an enum or a const
	properties  map[string]any
	items       any // nil: the schema does not say
	// other is the schema of properties without a name of their own; nil if there may be any.
	other  any
	closed bool // there are no others

	followed map[string]bool // references: a schema may be recursive
}

// shapeOf returns the shape of a tool's arguments.
func shapeOf(schema tool.Schema) shape {
	root, _ := jsontree.Parse(schema) // what is not JSON says nothing
	return shape{root: root}.sub(root)
}

// sub returns the shape of a part of the schema.
func (s shape) sub(part any) shape {
	out := shape{root: s.root, properties: map[string]any{}, followed: map[string]bool{}}
	out.add(part, 0)
	return out
}

// add adds what a schema says. A schema that is true, false or something else adds nothing.
func (s *shape) add(part any, depth int) {
	o, ok := part.(*jsontree.Object)
	if !ok || depth > maxDepth {
		return
	}
	if s.description == "" {
		s.description = o.Text("description")
	}
	values := o.List("enum")
	if o.Has("const") {
		values = append(slices.Clip(values), o.Get("const"))
	}
	s.values = append(s.values, values...)
	types := o.Types()
	if types == nil {
		for _, v := range values {
			types = append(types, jsontree.TypeOf(v))
		}
	}
	for _, t := range types {
		if !slices.Contains(s.types, t) {
			s.types = append(s.types, t)
		}
	}
	for _, p := range o.Object("properties").All() {
		s.properties[p.Name] = p.Value
	}
	if o.Has("items") {
		s.items = o.Get("items")
	}
	if other := o.Get("additionalProperties"); jsontree.Is(other, "false") {
		s.closed = true
	} else if other != nil {
		s.other = other
	}
	if ref := o.Text("$ref"); ref != "" && !s.followed[ref] {
		s.followed[ref] = true
		s.add(jsontree.Follow(s.root, ref), depth+1)
	}
	for _, one := range slices.Concat(o.List("anyOf"), o.List("oneOf"), o.List("allOf")) {
		s.add(one, depth+1)
	}
}

func (s shape) takes(kind string) bool { return slices.Contains(s.types, kind) }

// mayBeObject reports whether the value may have members, as far as the schema says.
func (s shape) mayBeObject() bool { return len(s.types) == 0 || s.takes("object") }
