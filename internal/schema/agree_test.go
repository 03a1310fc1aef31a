package schema

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// dice generates random schemas and values that are related: few names, few
// values, many keywords.
type dice struct{ *rand.Rand }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func (d dice) name() string { return pick(d, "a", "b", "ab", "c~/%d") }

func (d dice) scalar() any {
	return pick[any](d, nil, true, false, "", "a", "ab", "abc", json.Number("0"), json.Number("1"), json.Number("1.0"), json.Number("2.5"), json.Number("-1"), json.Number("1e1"))
}

func (d dice) value(levels int) any {
	switch n := d.IntN(4); {
	case levels == 0 || n < 2:
		return d.scalar()
	case n == 2:
		items := []any{}
		for range d.IntN(4) {
			items = append(items, d.value(levels-1))
		}
		return items
	}
	members := map[string]any{}
	for range d.IntN(4) {
		members[d.name()] = d.value(levels - 1)
	}
	return members
}

func (d dice) schema(levels int) any {
	if d.IntN(12) == 0 {
		return d.IntN(2) == 0
	}
	keys := map[string]any{}
	for range 1 + d.IntN(3) {
		d.keyword(keys, levels)
	}
	return keys
}

func (d dice) keyword(keys map[string]any, levels int) {
	size := func() any { return json.Number(pick(d, "0", "1", "2", "3.0")) }
	list := func(of func() any) any {
		items := []any{of()}
		for range d.IntN(2) {
			items = append(items, of())
		}
		return items
	}
	names := func() any { return []any{pick(d, "a", "b"), pick(d, "ab", "c~/%d")} }
	leaf := map[string]func() any{
		"type": func() any {
			return pick[any](d, "string", "integer", "number", "object", "array", []any{"null", "boolean"}, []any{"object", "integer"})
		},
		"enum": func() any { return []any{d.value(1), "unlikely"} }, "const": func() any { return d.value(1) },
		"minimum": size, "maximum": size, "exclusiveMinimum": size, "exclusiveMaximum": size,
		"multipleOf": func() any { return json.Number(pick(d, "2", "0.5")) },
		"minLength":  size, "maxLength": size, "pattern": func() any { return pick(d, "^a", "b$", "a+b?") },
		"minItems": size, "maxItems": size, "uniqueItems": func() any { return d.IntN(4) > 0 }, "minContains": size, "maxContains": size,
		"minProperties": size, "maxProperties": size, "required": names,
		"dependentRequired": func() any { return map[string]any{d.name(): names()} },
		"dependencies":      func() any { return map[string]any{d.name(): names()} },
		"format":            func() any { return pick(d, "date", "regex", "uri") },
		"$ref":              func() any { return pick(d, "#/$defs/x", "#/$defs/%79") },
	}
	if levels > 0 {
		one := func() any { return d.schema(levels - 1) }
		named := func() any { return map[string]any{d.name(): one(), d.name(): one()} }
		for _, name := range []string{"not", "if", "then", "else", "additionalProperties", "unevaluatedProperties", "propertyNames", "items", "contains", "unevaluatedItems"} {
			leaf[name] = one
		}
		for _, name := range []string{"properties", "dependentSchemas"} {
			leaf[name] = named
		}
		leaf["patternProperties"] = func() any { return map[string]any{pick(d, "^a", "b"): one()} }
		for _, name := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
			leaf[name] = func() any { return list(one) }
		}
	}
	all := make([]string, 0, len(leaf))
	for name := range leaf {
		all = append(all, name)
	}
	slices.Sort(all) // the same dice give the same schema
	name := all[d.IntN(len(all))]
	keys[name] = leaf[name]()
}

// TestAgreesWithV5 checks that v5 alone, given the original schema, reaches the
// same verdict for random schemas and values.
func TestAgreesWithV5(t *testing.T) {
	t.Parallel()
	d := dice{rand.New(rand.NewPCG(1, 2))}
	compiled, plain := 0, 0
	draws := 300
	if testing.Short() {
		draws = 100
	}
	for range draws {
		root := map[string]any{"$defs": map[string]any{"x": d.schema(1), "y": d.schema(0)}}
		root["$schema"] = pick(d, "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#")
		for range 3 {
			d.keyword(root, 2)
		}
		text := require.Must(json.Marshal(root))(t)
		s, err := CompileOutput(text)
		if err != nil {
			if !strings.Contains(err.Error(), "never ends") && !strings.Contains(err.Error(), "does not compile") {
				t.Fatalf("%s: %v", text, err)
			}
			continue
		}
		compiled++
		v5 := asWritten(s)
		for range 10 {
			value := require.Must(json.Marshal(d.value(3)))(t)
			if s.fits(string(value)) {
				plain++
			}
			compareWithV5(t, s, v5, string(value))
		}
	}
	if compiled < draws*2/3 || plain < draws*2/15 {
		t.Errorf("only %d schemas compiled and %d values fit as text", compiled, plain)
	}
}
