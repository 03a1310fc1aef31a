package llmschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxProperty is Anthropic's limit for the name of a property, in bytes.
const maxProperty = 64

// propertyNames gives properties names that Anthropic takes. [Offer.Arguments] gives them
// back their own.
func propertyNames(r *rewrite) error {
	taken := map[string]bool{}
	walk(r.root, func(s *object) {
		for _, name := range namesIn(s) {
			taken[name] = true
		}
	})
	renamed := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		if plainProperty(name) == name {
			continue
		}
		base := plainProperty(name)
		next := base
		for n := 2; taken[next]; n++ {
			suffix := "_" + strconv.Itoa(n)
			next = base[:min(len(base), maxProperty-len(suffix))] + suffix
		}
		taken[next] = true
		renamed[name] = next
	}
	if len(renamed) == 0 {
		return nil
	}
	property := func(name string) string {
		if next, ok := renamed[name]; ok {
			return next
		}
		return name
	}
	moved{keyword: func(_ *object, name string) string { return name }, property: property}.refs(r.root)
	walk(r.root, func(s *object) { r.renameIn(s, property) })
	r.note.Renamed = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(renamed)) {
		r.note.Renamed[renamed[name]] = name
		r.rewrote("the argument %s is called %s", strconv.Quote(name), renamed[name])
	}
	return nil
}

// namesIn returns the names of properties that a subschema mentions.
func namesIn(s *object) []string {
	names := s.names("required")
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for _, m := range s.object(keyword).all() {
			names = append(names, m.name)
			if list, ok := m.value.([]any); ok {
				for _, v := range list {
					names = append(names, textOf(v))
				}
			}
		}
	}
	return names
}

func (r *rewrite) renameIn(s *object, property func(string) string) {
	changed := false
	all := func(names []string) []any {
		for i, name := range names {
			names[i] = property(name)
		}
		return jsonNames(names)
	}
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		group := s.object(keyword)
		for i := range group.all() {
			m := &group.members[i]
			changed = changed || property(m.name) != m.name
			m.name = property(m.name)
			if _, list := m.value.([]any); list {
				m.value = all(group.names(m.name))
			}
		}
	}
	if s.has("required") {
		s.set("required", all(s.names("required")))
	}
	if changed && (s.has("patternProperties") || s.has("propertyNames")) {
		r.lose("whether the names of renamed arguments fit the patterns of names next to them")
	}
}

// plainProperty replaces the characters of a name that Anthropic does not take.
func plainProperty(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c == '.' {
			return c
		}
		return aliasRune(c)
	}, name)
	if plain == "" {
		return "_"
	}
	return plain[:min(len(plain), maxProperty)]
}

// restorer gives the properties of arguments the names that they have in the tool's schema.
type restorer struct {
	root    *object           // the schema as it was exported
	renamed map[string]string // own names, by exported ones

	nullable map[*object][]string // see strict
}

// arguments returns arguments with the tool's own names. It returns texts that are not JSON
// as they are: the host says what is wrong with them.
func (r restorer) arguments(args json.RawMessage) json.RawMessage {
	v, err := parseJSON(args)
	if err != nil {
		return args
	}
	r.restore([]any{r.root}, v)
	return compact(v)
}

// restore renames properties in a value to which some schemas apply. Only what a schema
// mentions is renamed: the same name may be the caller's own in a free-form object.
func (r restorer) restore(schemas []any, v any) {
	applied := r.expand(schemas)
	switch v := v.(type) {
	case *object:
		mentioned := map[string]bool{}
		for _, s := range applied {
			for _, name := range namesIn(s) {
				mentioned[name] = true
			}
		}
		v.members = slices.DeleteFunc(v.members, func(m member) bool {
			raw, _ := m.value.(json.RawMessage)
			return string(raw) == "null" && slices.ContainsFunc(applied, func(s *object) bool {
				return slices.Contains(r.nullable[s], m.name)
			})
		})
		for i := range v.members {
			m := &v.members[i]
			var below []any
			for _, s := range applied {
				below = append(below, s.object("properties").get(m.name))
				for _, p := range s.object("patternProperties").all() {
					below = append(below, p.value)
				}
				below = append(below, s.get("additionalProperties"), s.get("unevaluatedProperties"))
			}
			r.restore(below, m.value)
			if own, ok := r.renamed[m.name]; ok && mentioned[m.name] {
				m.name = own
			}
		}
	case []any:
		for i, item := range v {
			var below []any
			for _, s := range applied {
				if prefix := s.list("prefixItems"); i < len(prefix) {
					below = append(below, prefix[i])
				}
				below = append(below, s.get("items"), s.get("contains"), s.get("unevaluatedItems"))
			}
			r.restore(below, item)
		}
	}
}

// expand returns the schemas and all that they apply to the same value.
func (r restorer) expand(schemas []any) []*object {
	var out []*object
	for len(schemas) > 0 {
		s, ok := schemas[0].(*object)
		schemas = schemas[1:]
		if !ok || slices.Contains(out, s) {
			continue
		}
		out = append(out, s)
		for _, m := range s.members {
			switch m.name {
			case "$ref":
				schemas = append(schemas, follow(r.root, textOf(m.value)))
			case "allOf", "anyOf", "oneOf":
				schemas = append(schemas, s.list(m.name)...)
			case "if", "then", "else":
				schemas = append(schemas, m.value)
			case "dependentSchemas":
				for _, sub := range s.object(m.name).all() {
					schemas = append(schemas, sub.value)
				}
			}
		}
	}
	return out
}
