package llmschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// maxProperty is Anthropic's limit for the name of a property, in bytes.
const maxProperty = 64

// propertyNames gives properties names that Anthropic takes. [Offer.Arguments] gives them
// back their own.
func propertyNames(r *rewrite) error {
	taken := map[string]bool{}
	jsontree.Walk(r.root, func(s *jsontree.Object) {
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
	moved{keyword: func(_ *jsontree.Object, name string) string { return name }, property: property}.refs(r.root)
	jsontree.Walk(r.root, func(s *jsontree.Object) { r.renameIn(s, property) })
	r.note.Renamed = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(renamed)) {
		r.note.Renamed[renamed[name]] = name
		r.rewrote("the argument %s is called %s", strconv.Quote(name), renamed[name])
	}
	return nil
}

// namesIn returns the names of properties that a subschema mentions.
func namesIn(s *jsontree.Object) []string {
	names := s.Texts("required")
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for _, m := range s.Object(keyword).All() {
			names = append(names, m.Name)
			if list, ok := m.Value.([]any); ok {
				for _, v := range list {
					names = append(names, jsontree.Text(v))
				}
			}
		}
	}
	return names
}

func (r *rewrite) renameIn(s *jsontree.Object, property func(string) string) {
	changed := false
	all := func(names []string) []string {
		for i, name := range names {
			names[i] = property(name)
		}
		return names
	}
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		group := s.Object(keyword)
		for i := range group.All() {
			m := &group.Members[i]
			changed = changed || property(m.Name) != m.Name
			m.Name = property(m.Name)
			if _, list := m.Value.([]any); list {
				group.Set(m.Name, all(group.Texts(m.Name)))
			}
		}
	}
	if s.Has("required") {
		s.Set("required", all(s.Texts("required")))
	}
	if changed && (s.Has("patternProperties") || s.Has("propertyNames")) {
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
	root    *jsontree.Object  // the schema as it was exported
	renamed map[string]string // own names, by exported ones

	nullable map[*jsontree.Object][]string // see strict
}

// arguments returns arguments with the tool's own names. It returns texts that are not JSON
// as they are: the host says what is wrong with them.
func (r restorer) arguments(args json.RawMessage) json.RawMessage {
	v, err := jsontree.Parse(args)
	if err != nil {
		return args
	}
	r.restore([]any{r.root}, v)
	return jsontree.Encode(v)
}

// restore renames properties in a value to which some schemas apply. Only what a schema
// mentions is renamed: the same name may be the caller's own in a free-form object.
func (r restorer) restore(schemas []any, v any) {
	applied := r.expand(schemas)
	switch v := v.(type) {
	case *jsontree.Object:
		mentioned := map[string]bool{}
		for _, s := range applied {
			for _, name := range namesIn(s) {
				mentioned[name] = true
			}
		}
		v.Members = slices.DeleteFunc(v.Members, func(m jsontree.Member) bool {
			return jsontree.Is(m.Value, "null") && slices.ContainsFunc(applied, func(s *jsontree.Object) bool {
				return slices.Contains(r.nullable[s], m.Name)
			})
		})
		for i := range v.Members {
			m := &v.Members[i]
			var below []any
			for _, s := range applied {
				below = append(below, s.Object("properties").Get(m.Name))
				for _, p := range s.Object("patternProperties").All() {
					below = append(below, p.Value)
				}
				below = append(below, s.Get("additionalProperties"), s.Get("unevaluatedProperties"))
			}
			r.restore(below, m.Value)
			if own, ok := r.renamed[m.Name]; ok && mentioned[m.Name] {
				m.Name = own
			}
		}
	case []any:
		for i, item := range v {
			var below []any
			for _, s := range applied {
				if prefix := s.List("prefixItems"); i < len(prefix) {
					below = append(below, prefix[i])
				}
				below = append(below, s.Get("items"), s.Get("contains"), s.Get("unevaluatedItems"))
			}
			r.restore(below, item)
		}
	}
}

// expand returns the schemas and all that they apply to the same value.
func (r restorer) expand(schemas []any) []*jsontree.Object {
	var out []*jsontree.Object
	for len(schemas) > 0 {
		s, ok := schemas[0].(*jsontree.Object)
		schemas = schemas[1:]
		if !ok || slices.Contains(out, s) {
			continue
		}
		out = append(out, s)
		for _, m := range s.Members {
			if m.Name == "$ref" {
				schemas = append(schemas, jsontree.Follow(r.root, jsontree.Text(m.Value)))
			}
			if jsontree.Keywords[m.Name].Place == jsontree.InPlace {
				schemas = append(schemas, m.Schemas()...)
			}
		}
	}
	return out
}
