// Package sample makes values that fit a JSON Schema, to call tools of which nothing else is
// known. Begin with [Arguments].
package sample

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxDepth bounds the values that are made of a schema that contains itself.
const maxDepth = 8

// Arguments returns arguments made from a tool's input schema: with all properties, or with the
// required ones only. They need not fit: a schema can ask for what cannot be guessed, such as a
// text that matches a pattern. Nil: the schema is not JSON.
func Arguments(input tool.Schema, all bool) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage(`{}`)
	}
	root, err := jsontree.Parse(input)
	if err != nil {
		return nil
	}
	m := maker{root: root, all: all}
	out, err := json.Marshal(m.value(root, 0))
	if err != nil {
		return nil
	}
	return out
}

// maker makes values of a schema.
type maker struct {
	root any
	all  bool // optional properties too
}

func (m maker) value(s any, depth int) any {
	o, ok := s.(*jsontree.Object)
	if !ok || depth > maxDepth {
		return &jsontree.Object{} // true allows anything
	}
	if ref := o.Text("$ref"); ref != "" {
		return m.value(jsontree.Follow(m.root, ref), depth+1)
	}
	for _, keyword := range []string{"const", "default"} {
		if o.Has(keyword) {
			return o.Get(keyword)
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if of := o.List(keyword); len(of) > 0 {
			return of[0]
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if of := o.List(keyword); len(of) > 0 {
			return m.value(joined(o, of[0], keyword), depth+1)
		}
	}
	if o.Has("allOf") {
		for _, part := range o.List("allOf") {
			o = joined(o, part, "allOf")
		}
		return m.value(o, depth+1)
	}
	switch typeOf(o) {
	case "object":
		return m.object(o, depth)
	case "array":
		return m.array(o, depth)
	case "string":
		return text(o)
	case "integer", "number":
		return number(o)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return &jsontree.Object{}
}

func (m maker) object(o *jsontree.Object, depth int) any {
	out := map[string]any{}
	required := o.Texts("required")
	for _, p := range o.Object("properties").All() {
		if slices.Contains(required, p.Name) || m.all && depth < maxDepth/2 {
			out[p.Name] = m.value(p.Value, depth+1)
		}
	}
	return out
}

func (m maker) array(o *jsontree.Object, depth int) any {
	out := []any{}
	least, _ := o.Number("minItems")
	if m.all && depth < maxDepth/2 {
		least = max(least, 1)
	}
	if most, ok := o.Number("maxItems"); ok {
		least = min(least, most)
	}
	first := o.List("prefixItems")
	for i := range int(min(least, 100)) {
		if i < len(first) {
			out = append(out, m.value(first[i], depth+1))
		} else if o.Has("items") {
			out = append(out, m.value(o.Get("items"), depth+1))
		}
	}
	return out
}

// formats are texts of the formats that JSON Schema names.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "P1D",
	"email": "a@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uri-reference": "/", "uuid": "00000000-0000-4000-8000-000000000000",
	"regex": "a", "json-pointer": "/a",
}

func text(o *jsontree.Object) any {
	out := formats[o.Text("format")]
	if out == "" {
		out = "text"
	}
	if o.Text("contentEncoding") == "base64" {
		out = "dGV4dA=="
	}
	if least, ok := o.Number("minLength"); ok && len(out) < int(least) && least < 1<<16 {
		out += strings.Repeat("x", int(least)-len(out))
	}
	if most, ok := o.Number("maxLength"); ok && len(out) > int(most) {
		out = out[:int(most)]
	}
	return out
}

func number(o *jsontree.Object) any {
	n, step := 1.0, 1.0
	if of, ok := o.Number("multipleOf"); ok && of > 0 {
		n, step = of, of
	}
	if least, ok := o.Number("minimum"); ok && n < least {
		n = math.Ceil(least/step) * step
	}
	if least, ok := o.Number("exclusiveMinimum"); ok && n <= least {
		n = (math.Floor(least/step) + 1) * step
	}
	if most, ok := o.Number("maximum"); ok && n > most {
		n = math.Floor(most/step) * step
	}
	if most, ok := o.Number("exclusiveMaximum"); ok && n >= most {
		n = (math.Ceil(most/step) - 1) * step
	}
	return n
}

// typeOf returns the type that a schema names, or that its keywords suggest.
func typeOf(o *jsontree.Object) string {
	if of := o.Types(); of != nil {
		return append(slices.DeleteFunc(of, func(name string) bool { return name == "null" }), "null")[0]
	}
	for _, m := range o.Members {
		switch m.Name {
		case "properties":
			return "object"
		case "items":
			return "array"
		case "minLength", "pattern":
			return "string"
		case "minimum":
			return "number"
		}
	}
	return ""
}

// joined returns a schema with the keywords of one of its parts.
func joined(o *jsontree.Object, part any, without string) *jsontree.Object {
	out := &jsontree.Object{Members: slices.Clone(o.Members)}
	out.Drop(without)
	more, _ := part.(*jsontree.Object)
	for _, m := range more.All() {
		both, value := out.Object(m.Name), m.Value
		if add, ok := value.(*jsontree.Object); ok && both != nil {
			both = &jsontree.Object{Members: slices.Clone(both.Members)}
			for _, m := range add.Members {
				both.Set(m.Name, m.Value)
			}
			value = both
		}
		if m.Name == "required" {
			value = append(out.Texts(m.Name), more.Texts(m.Name)...)
		}
		out.Set(m.Name, value)
	}
	return out
}
