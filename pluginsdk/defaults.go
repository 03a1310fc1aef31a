package pluginsdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// defaults fills in what a JSON object leaves out. The zero value fills in nothing.
type defaults struct{ root *shape }

// shape is what is filled in at one place of a schema.
type shape struct {
	absent []absent          // sorted by name
	below  map[string]*shape // of members that are objects or lists
	each   *shape            // of the items of a list, or the other members of an object
}

// absent is a member that is filled in.
type absent struct {
	name  string
	value json.RawMessage // nil: what its shape makes of {}
}

// setDefaults makes members with a default optional, and returns what fills them in. It refuses a
// default that does not fit its own schema.
func setDefaults(s *jsonschema.Schema) (defaults, error) {
	found, err := relax(s, s.Defs, "")
	if err != nil || !found {
		return defaults{}, err
	}
	return defaults{shapeOf(s, s.Defs, map[*jsonschema.Schema]*shape{})}, nil
}

// relax makes members with a default optional, and reports whether there are any.
func relax(s *jsonschema.Schema, defs map[string]*jsonschema.Schema, path string) (found bool, err error) {
	if s == nil {
		return false, nil
	}
	visit := func(below *jsonschema.Schema, path string) {
		if err == nil {
			var more bool
			more, err = relax(below, defs, path)
			found = found || more
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		visit(s.Defs[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; p != nil && p.Default != nil {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		visit(s.Properties[name], joinPath(path, name))
	}
	visit(s.Items, path+"[]")
	visit(s.AdditionalProperties, joinPath(path, "*"))
	if err != nil || s.Default == nil || path == "" {
		return found, err
	}
	v, err := exactly(s.Default)
	if err == nil {
		err = fits(s, defs, v)
	}
	if err != nil {
		return false, fmt.Errorf("the default %s of %s does not fit: %w", s.Default, path, err)
	}
	return true, nil
}

// shapeOf returns what is filled in at a place. A type that contains itself has a shape that does.
func shapeOf(s *jsonschema.Schema, defs map[string]*jsonschema.Schema, known map[*jsonschema.Schema]*shape) *shape {
	if s != nil && len(s.AnyOf) == 2 { // null, or a type that contains itself
		s = s.AnyOf[1]
	}
	if s != nil && s.Ref != "" {
		s = defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s == nil {
		return nil
	}
	if there, ok := known[s]; ok {
		return there
	}
	out := &shape{below: map[string]*shape{}}
	known[s] = out
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		below := shapeOf(p, defs, known)
		if below != nil {
			out.below[name] = below
		}
		switch {
		case p.Default != nil:
			out.absent = append(out.absent, absent{name, p.Default})
		case below != nil && len(below.absent) > 0 && p.Type == "object" && len(p.Required) == 0:
			out.absent = append(out.absent, absent{name, nil}) // a struct whose fields are all optional
		}
	}
	if out.each = shapeOf(s.Items, defs, known); out.each == nil {
		out.each = shapeOf(s.AdditionalProperties, defs, known)
	}
	if len(out.absent)+len(out.below) == 0 && out.each == nil {
		known[s] = nil
		return nil
	}
	return out
}

// fill returns an object with what it leaves out.
func (d defaults) fill(doc json.RawMessage) json.RawMessage {
	if d.root == nil {
		return doc
	}
	if len(doc) == 0 {
		doc = json.RawMessage("{}")
	}
	return d.root.fill(doc)
}

// fill returns doc itself if nothing is left out. What is not JSON, or not of the shape, is
// returned as it is.
func (s *shape) fill(doc json.RawMessage) json.RawMessage {
	switch first := bytes.TrimLeft(doc, " \t\r\n"); {
	case s == nil || len(first) == 0:
		return doc
	case first[0] == '[' && s.each != nil:
		var items []json.RawMessage
		if json.Unmarshal(doc, &items) != nil {
			return doc
		}
		for i := range items {
			items[i] = s.each.fill(items[i])
		}
		return append(append([]byte{'['}, join(items)...), ']')
	case first[0] != '{':
		return doc
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return doc
	}
	var parts []json.RawMessage
	add := func(name string, value json.RawMessage) {
		key, _ := json.Marshal(name) // strings never fail
		parts = append(parts, slices.Concat(key, []byte{':'}, value))
	}
	for _, a := range s.absent {
		if _, there := members[a.name]; !there {
			value := a.value
			if value == nil {
				value = json.RawMessage("{}")
			}
			add(a.name, s.below[a.name].fill(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		below, named := s.below[name]
		if !named {
			below = s.each
		}
		add(name, below.fill(members[name]))
	}
	return append(append([]byte{'{'}, join(parts)...), '}')
}

func join(parts []json.RawMessage) []byte {
	var out []byte
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	return out
}
