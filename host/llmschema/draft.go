package llmschema

import (
	"slices"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// besideRef are the keywords that stay next to $ref when an old draft is converted: they
// say something to a reader, or are what references lead to.
var besideRef = []string{"$ref", "$defs", "definitions", "title", "description", "default", "examples", "$comment"}

// draft2020 converts a schema of an older draft to 2020-12, with the same meaning. Models
// are told no "$schema": without one, 2020-12 is meant.
func draft2020(r *rewrite) error {
	draft, known := jsontree.DraftOf(r.root.Text("$schema"))
	if !known {
		draft = jsontree.Draft2020
	}
	r.root.Drop("$schema")
	keyword := func(s *jsontree.Object, name string) string { return modernName(s, name, draft) }
	moved{keyword: keyword, property: same}.refs(r.root)
	before := jsontree.Encode(r.root)
	jsontree.Walk(r.root, func(s *jsontree.Object) { modernize(s, s == r.root, draft) })
	if string(before) != string(jsontree.Encode(r.root)) {
		r.rewrote("it is converted to JSON Schema 2020-12 from an older draft")
	}
	return nil
}

// modernName returns where the content of a keyword is after the conversion.
func modernName(s *jsontree.Object, name string, draft int) string {
	_, tuple := s.Get("items").([]any)
	switch {
	case name == "definitions" && draft <= jsontree.Draft07 && mergeable(s):
		return "$defs"
	case name == "dependencies":
		return "dependentSchemas"
	case name == "items" && tuple:
		return "prefixItems"
	case name == "additionalItems" && tuple:
		return "items"
	}
	return name
}

// mergeable reports whether the definitions of s can go to its $defs.
func mergeable(s *jsontree.Object) bool {
	for _, m := range s.Object("definitions").All() {
		if s.Object("$defs").Has(m.Name) {
			return false
		}
	}
	return s.Object("definitions") != nil && (!s.Has("$defs") || s.Object("$defs") != nil)
}

// modernize converts one subschema.
func modernize(s *jsontree.Object, isRoot bool, draft int) {
	// What means nothing in an old draft must not come to life.
	s.DropFunc(func(name string) bool { return jsontree.Keywords[name].Since > draft })
	if draft <= jsontree.Draft07 && s.Text("$ref") != "" { // its neighbours mean nothing
		s.DropFunc(func(name string) bool { return !slices.Contains(besideRef, name) && (!isRoot || name != "type") })
	}
	if draft == jsontree.Draft04 {
		s.Drop("id")
		for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
			switch flag := s.Get(exclusive); {
			case jsontree.Is(flag, "true"):
				s.Drop(exclusive)
				s.Rename(limit, exclusive)
			case jsontree.Is(flag, "false"):
				s.Drop(exclusive)
			}
		}
	}
	if draft <= jsontree.Draft07 && mergeable(s) {
		if defs := s.Object("$defs"); defs != nil {
			defs.Members = append(defs.Members, s.Object("definitions").Members...)
			s.Drop("definitions")
		} else {
			s.Rename("definitions", "$defs")
		}
	}
	if _, tuple := s.Get("items").([]any); tuple {
		s.Rename("items", "prefixItems")
		s.Rename("additionalItems", "items")
		if len(s.List("prefixItems")) == 0 {
			s.Drop("prefixItems") // it has to have one
		}
	} else if draft < jsontree.Draft2020 {
		s.Drop("additionalItems")
	}
	splitDependencies(s)
}

// splitDependencies replaces "dependencies", which toolhost judges in every draft.
func splitDependencies(s *jsontree.Object) {
	dependencies := s.Object("dependencies")
	if dependencies == nil || s.Has("dependentRequired") || s.Has("dependentSchemas") {
		return
	}
	names, schemas := &jsontree.Object{}, &jsontree.Object{}
	for _, m := range dependencies.Members {
		if _, list := m.Value.([]any); list {
			names.Members = append(names.Members, m)
		} else {
			schemas.Members = append(schemas.Members, m)
		}
	}
	s.Drop("dependencies")
	if len(names.Members) > 0 {
		s.Set("dependentRequired", names)
	}
	if len(schemas.Members) > 0 {
		s.Set("dependentSchemas", schemas)
	}
}
