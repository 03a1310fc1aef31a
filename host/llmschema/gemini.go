package llmschema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// geminiTool is an element of "tools" in a request to Gemini's generateContent
// (https://ai.google.dev/api/caching#Tool).
type geminiTool struct {
	FunctionDeclarations []any `json:"functionDeclarations"`
}

// geminiFunction is a FunctionDeclaration
// (https://ai.google.dev/api/caching#FunctionDeclaration). A request has either
// "parametersJsonSchema", which takes JSON Schema, or the older "parameters",
// which takes a dialect of OpenAPI and would need a translation.
type geminiFunction struct {
	Name                 string           `json:"name"`
	Description          string           `json:"description"`
	ParametersJSONSchema *jsontree.Object `json:"parametersJsonSchema"`
}

// geminiKeywords are what a schema may say at any depth: the keywords of JSON Schema 2020-12 that the page of
// FunctionDeclaration lists, and those that https://ai.google.dev/api/caching#Schema has, which gateways translate to.
var geminiKeywords = []string{
	"$id", "$defs", "definitions", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
	"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
	"propertyOrdering", "default", "pattern", "minLength", "maxLength", "minProperties", "maxProperties",
}

// geminiOnly leaves out what Gemini does not take, after it wrote what can be said otherwise.
func geminiOnly(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) {
		together(r, s)
		inclusive(r, s, "exclusiveMinimum", "minimum", 1)
		inclusive(r, s, "exclusiveMaximum", "maximum", -1)
		plainEnum(r, s)
		s.DropFunc(func(name string) bool {
			if slices.Contains(geminiKeywords, name) {
				return false
			}
			if !slices.Contains(remarks, name) {
				r.lose("%s", name)
			}
			return true
		})
	})
	return nil
}

// together writes what all of several forms say into the schema that they are part of. Of a keyword that several have,
// one stays, which allows no less.
func together(r *rewrite, s *jsontree.Object) {
	for _, v := range s.List("allOf") {
		form, _ := v.(*jsontree.Object)
		for _, m := range form.All() {
			mine := s.Object(m.Name)
			more, _ := m.Value.(*jsontree.Object)
			switch {
			case !s.Has(m.Name):
				s.Set(m.Name, m.Value)
			case m.Name == "required":
				names := s.Texts(m.Name)
				s.Set(m.Name, append(names, slices.DeleteFunc(form.Texts(m.Name), func(n string) bool { return slices.Contains(names, n) })...))
			case m.Name == "properties" && mine != nil && more != nil:
				for _, p := range more.Members {
					if !mine.Has(p.Name) {
						mine.Set(p.Name, p.Value)
					} else if !jsontree.Equal(mine.Get(p.Name), p.Value) {
						r.lose("what several forms of allOf say of one argument")
					}
				}
			case !jsontree.Equal(s.Get(m.Name), m.Value):
				r.lose("what several forms of allOf say by %s", m.Name)
			}
		}
	}
	if s.Drop("allOf") {
		r.rewrote("forms of which all apply are one")
	}
}

// inclusive writes the exclusive bound of an integer as the next one.
func inclusive(r *rewrite, s *jsontree.Object, exclusive, bound string, step float64) {
	n, ok := s.Number(exclusive)
	if !ok || s.Text("type") != "integer" || n != float64(int32(n)) || s.Has(bound) {
		return
	}
	s.Drop(exclusive)
	s.Set(bound, json.RawMessage(strconv.FormatFloat(n+step, 'f', -1, 64)))
	r.rewrote("exclusive bounds of integers are the next ones")
}

// plainEnum leaves out an enum of other values than strings and numbers. A type that they have in common stays.
func plainEnum(r *rewrite, s *jsontree.Object) {
	values := s.List("enum")
	plain := func(v any) bool {
		kind := jsontree.TypeOf(v)
		return kind == "string" || kind == "number" || kind == "integer"
	}
	if !s.Has("enum") || !slices.ContainsFunc(values, func(v any) bool { return !plain(v) }) {
		return
	}
	if kind := kindOf(values); kind != "" && !s.Has("type") {
		s.Set("type", kind)
	}
	s.Drop("enum")
	r.lose("an enum of other values than strings and numbers")
}
