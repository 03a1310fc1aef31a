package llmschema

import (
	"slices"
	"strings"
)

// since is the draft that introduced a keyword. In an older one the keyword means nothing,
// so it must not come to life when the schema is converted.
var since = map[string]int{
	"const": 6, "contains": 6, "propertyNames": 6, "examples": 6,
	"if": 7, "then": 7, "else": 7,
	"dependentRequired": 2019, "dependentSchemas": 2019, "minContains": 2019, "maxContains": 2019,
	"unevaluatedProperties": 2019, "unevaluatedItems": 2019, "$anchor": 2019,
	"prefixItems": 2020,
}

// drafts are the values of $schema before 2020-12, without the scheme and "#".
var drafts = map[string]int{
	"json-schema.org/draft-04/schema": 4, "json-schema.org/draft-06/schema": 6, "json-schema.org/draft-07/schema": 7,
	"json-schema.org/draft/2019-09/schema": 2019,
}

// besideRef are the keywords that stay next to $ref when an old draft is converted: they
// say something to a reader, or are what references lead to.
var besideRef = []string{"$ref", "$defs", "definitions", "title", "description", "default", "examples", "$comment"}

// draft2020 converts a schema of an older draft to 2020-12, with the same meaning. Models
// are told no "$schema": without one, 2020-12 is meant.
func draft2020(r *rewrite) error {
	address := r.root.text("$schema")
	r.root.drop("$schema")
	_, address, _ = strings.Cut(strings.TrimSuffix(address, "#"), "://")
	draft, old := drafts[address]
	if !old {
		draft = 2020
	}
	moved{keyword: func(s *object, name string) string { return modernName(s, name, draft) }, property: same}.refs(r.root)
	before := compact(r.root)
	walk(r.root, func(s *object) { modernize(s, s == r.root, draft) })
	if string(before) != string(compact(r.root)) {
		r.rewrote("it is converted to JSON Schema 2020-12 from an older draft")
	}
	return nil
}

// modernName returns where the content of a keyword is after the conversion.
func modernName(s *object, name string, draft int) string {
	_, tuple := s.get("items").([]any)
	switch {
	case name == "definitions" && draft <= 7 && mergeable(s):
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
func mergeable(s *object) bool {
	for _, m := range s.object("definitions").all() {
		if s.object("$defs").has(m.name) {
			return false
		}
	}
	return s.object("definitions") != nil && (!s.has("$defs") || s.object("$defs") != nil)
}

func (o *object) all() []member {
	if o == nil {
		return nil
	}
	return o.members
}

// modernize converts one subschema.
func modernize(s *object, isRoot bool, draft int) {
	s.members = slices.DeleteFunc(s.members, func(m member) bool { return since[m.name] > draft })
	if draft <= 7 && s.text("$ref") != "" { // its neighbours mean nothing
		s.members = slices.DeleteFunc(s.members, func(m member) bool {
			return !slices.Contains(besideRef, m.name) && (!isRoot || m.name != "type")
		})
	}
	if draft == 4 {
		s.drop("id")
		for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
			switch flag := s.get(exclusive); {
			case isTrue(flag):
				s.drop(exclusive)
				s.rename(limit, exclusive)
			case isFalse(flag):
				s.drop(exclusive)
			}
		}
	}
	if draft <= 7 && mergeable(s) {
		if defs := s.object("$defs"); defs != nil {
			defs.members = append(defs.members, s.object("definitions").members...)
			s.drop("definitions")
		} else {
			s.rename("definitions", "$defs")
		}
	}
	if _, tuple := s.get("items").([]any); tuple {
		s.rename("items", "prefixItems")
		s.rename("additionalItems", "items")
		if len(s.list("prefixItems")) == 0 {
			s.drop("prefixItems") // it has to have one
		}
	} else if draft < 2020 {
		s.drop("additionalItems")
	}
	splitDependencies(s)
}

// splitDependencies replaces "dependencies", which toolhost judges in every draft.
func splitDependencies(s *object) {
	dependencies := s.object("dependencies")
	if dependencies == nil || s.has("dependentRequired") || s.has("dependentSchemas") {
		return
	}
	names, schemas := &object{}, &object{}
	for _, m := range dependencies.members {
		if _, list := m.value.([]any); list {
			names.members = append(names.members, m)
		} else {
			schemas.members = append(schemas.members, m)
		}
	}
	s.drop("dependencies")
	if len(names.members) > 0 {
		s.set("dependentRequired", names)
	}
	if len(schemas.members) > 0 {
		s.set("dependentSchemas", schemas)
	}
}
