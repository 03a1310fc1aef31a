package arguments

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxDepth bounds how deep unions are followed.
const maxDepth = 64

// shape is what a schema says about the form of a value, as far as a command line needs it.
// Where a schema has alternatives, it is that of all of them together: the host judges.
type shape struct {
	root        tool.Schema
	types       []string // JSON types that the value may have; empty: the schema does not say
	description string
	values      []json.RawMessage // of an enum or a const
	properties  map[string]json.RawMessage
	items       json.RawMessage // nil: the schema does not say
	// other is the schema of properties without a name of their own; nil if there may be any.
	other  json.RawMessage
	closed bool // there are no others

	followed map[string]bool // references: a schema may be recursive
}

// shapeOf returns the shape of a tool's arguments.
func shapeOf(schema tool.Schema) shape {
	s := shape{root: schema}
	s.add(schema, 0)
	return s
}

// sub returns the shape of a part of the schema.
func (s shape) sub(part json.RawMessage) shape {
	out := shape{root: s.root}
	out.add(part, 0)
	return out
}

// add adds what a schema says. A schema that is true, false or something else adds nothing.
func (s *shape) add(text json.RawMessage, depth int) {
	var c struct {
		Ref                 string                     `json:"$ref"`
		Type                json.RawMessage            `json:"type"`
		Description         string                     `json:"description"`
		Enum                []json.RawMessage          `json:"enum"`
		Const               json.RawMessage            `json:"const"`
		Properties          map[string]json.RawMessage `json:"properties"`
		Items               json.RawMessage            `json:"items"`
		Other               json.RawMessage            `json:"additionalProperties"`
		AnyOf, OneOf, AllOf []json.RawMessage
	}
	if depth > maxDepth || json.Unmarshal(text, &c) != nil {
		return
	}
	if s.description == "" {
		s.description = c.Description
	}
	if c.Const != nil {
		c.Enum = append(c.Enum, c.Const)
	}
	types := typesOf(c.Type)
	if types == nil {
		for _, v := range c.Enum {
			types = append(types, typeOf(v))
		}
	}
	for _, t := range types {
		if !slices.Contains(s.types, t) {
			s.types = append(s.types, t)
		}
	}
	s.values = append(s.values, c.Enum...)
	if s.properties == nil {
		s.properties = map[string]json.RawMessage{}
	}
	maps.Copy(s.properties, c.Properties)
	if c.Items != nil {
		s.items = c.Items
	}
	switch string(c.Other) {
	case "":
	case "false":
		s.closed = true
	default:
		s.other = c.Other
	}
	if c.Ref != "" && !s.followed[c.Ref] {
		if s.followed == nil {
			s.followed = map[string]bool{}
		}
		s.followed[c.Ref] = true
		s.add(s.resolve(c.Ref), depth+1)
	}
	for _, one := range slices.Concat(c.AnyOf, c.OneOf, c.AllOf) {
		s.add(one, depth+1)
	}
}

// resolve returns what a reference into the schema refers to; nil if it leads elsewhere.
func (s shape) resolve(ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part == "" {
			continue
		}
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[part]
	}
	return at
}

// typesOf reads "type", which is a string or a list of them.
func typesOf(text json.RawMessage) []string {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return []string{one}
	}
	var several []string
	_ = json.Unmarshal(text, &several) // anything else leaves the type open
	return several
}

func typeOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (s shape) takes(kind string) bool { return slices.Contains(s.types, kind) }

// mayBeObject reports whether the value may have members, as far as the schema says.
func (s shape) mayBeObject() bool { return len(s.types) == 0 || s.takes("object") }
