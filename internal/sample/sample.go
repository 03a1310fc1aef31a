// Package sample makes values that fit a JSON Schema, to call tools of which nothing else is
// known. Begin with [Arguments].
package sample

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

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
	var root any
	if json.Unmarshal(input, &root) != nil {
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
	o, ok := s.(map[string]any)
	if !ok || depth > maxDepth {
		return map[string]any{} // true allows anything
	}
	if ref, ok := o["$ref"].(string); ok {
		return m.value(m.lookup(ref), depth+1)
	}
	for _, keyword := range []string{"const", "default"} {
		if v, there := o[keyword]; there {
			return v
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if of, ok := o[keyword].([]any); ok && len(of) > 0 {
			return of[0]
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if of, ok := o[keyword].([]any); ok && len(of) > 0 {
			return m.value(joined(o, of[0], keyword), depth+1)
		}
	}
	if of, ok := o["allOf"].([]any); ok {
		for _, part := range of {
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
	return map[string]any{}
}

func (m maker) object(o map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := o["properties"].(map[string]any)
	required, _ := o["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || m.all && depth < maxDepth/2 {
			out[name] = m.value(properties[name], depth+1)
		}
	}
	return out
}

func (m maker) array(o map[string]any, depth int) any {
	out := []any{}
	least, _ := o["minItems"].(float64)
	if m.all && depth < maxDepth/2 {
		least = max(least, 1)
	}
	if most, ok := o["maxItems"].(float64); ok {
		least = min(least, most)
	}
	first, _ := o["prefixItems"].([]any)
	for i := range int(min(least, 100)) {
		if i < len(first) {
			out = append(out, m.value(first[i], depth+1))
		} else if items, ok := o["items"]; ok {
			out = append(out, m.value(items, depth+1))
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

func text(o map[string]any) any {
	format, _ := o["format"].(string)
	out := formats[format]
	if out == "" {
		out = "text"
	}
	if o["contentEncoding"] == "base64" {
		out = "dGV4dA=="
	}
	if least, ok := o["minLength"].(float64); ok && len(out) < int(least) && least < 1<<16 {
		out += strings.Repeat("x", int(least)-len(out))
	}
	if most, ok := o["maxLength"].(float64); ok && len(out) > int(most) {
		out = out[:int(most)]
	}
	return out
}

func number(o map[string]any) any {
	n, step := 1.0, 1.0
	if of, ok := o["multipleOf"].(float64); ok && of > 0 {
		n, step = of, of
	}
	if least, ok := o["minimum"].(float64); ok && n < least {
		n = math.Ceil(least/step) * step
	}
	if least, ok := o["exclusiveMinimum"].(float64); ok && n <= least {
		n = (math.Floor(least/step) + 1) * step
	}
	if most, ok := o["maximum"].(float64); ok && n > most {
		n = math.Floor(most/step) * step
	}
	if most, ok := o["exclusiveMaximum"].(float64); ok && n >= most {
		n = (math.Ceil(most/step) - 1) * step
	}
	return n
}

// typeOf returns the type that a schema names, or that its keywords suggest.
func typeOf(o map[string]any) string {
	switch t := o["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
		return "null"
	}
	for keyword, name := range map[string]string{
		"properties": "object", "items": "array", "minLength": "string", "pattern": "string", "minimum": "number",
	} {
		if _, there := o[keyword]; there {
			return name
		}
	}
	return ""
}

// joined returns a schema with the keywords of one of its parts.
func joined(o map[string]any, part any, without string) map[string]any {
	out := maps.Clone(o)
	delete(out, without)
	more, _ := part.(map[string]any)
	for keyword, v := range more {
		switch there := out[keyword].(type) {
		case map[string]any:
			if add, ok := v.(map[string]any); ok {
				both := maps.Clone(there)
				maps.Copy(both, add)
				out[keyword] = both
				continue
			}
		case []any:
			if add, ok := v.([]any); ok && keyword == "required" {
				out[keyword] = slices.Concat(there, add)
				continue
			}
		}
		out[keyword] = v
	}
	return out
}

// lookup returns the schema that a reference within the document names.
func (m maker) lookup(ref string) any {
	at := m.root
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
		if step == "" {
			continue
		}
		o, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}
