package llmschema_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/test/require"
)

// author writes random input schemas, with what the rules rewrite, and arguments for them.
type author struct {
	*rand.Rand
	draft string
}

func pick[T any](a author, of ...T) T { return of[a.IntN(len(of))] }

func (a author) name() string { return pick(a, "a", "b", "$c", "d e") }

type object map[string]any

// value returns a schema for the value of an argument.
func (a author) value(levels int) any {
	s := object{}
	for range 1 + a.IntN(2) {
		switch a.IntN(9) {
		case 0:
			s["type"] = pick[any](a, "string", "integer", []string{"array", "null"}, "array")
		case 1:
			s["const"] = pick[any](a, 1, "x")
		case 2:
			s["enum"] = []any{1, "x", []int{1}}
		case 3:
			s["minimum"] = 2
			if a.draft == draft4 {
				s["exclusiveMinimum"] = a.IntN(2) == 0
			}
		case 4:
			s["$ref"] = pick(a, "#", "#/definitions/x", "#/definitions/y")
		case 5:
			if a.draft != draft2020 && levels > 0 {
				s["items"] = []any{a.value(0), a.value(0)}
				s["additionalItems"] = a.value(0)
			}
		case 6:
			if levels > 0 {
				s["items"] = a.value(levels - 1)
			}
		default:
			if levels > 0 {
				s = a.object(levels - 1)
			}
		}
	}
	return s
}

// object returns a schema for an object.
func (a author) object(levels int) object {
	s := object{"type": "object"}
	properties := object{}
	for range a.IntN(3) {
		properties[a.name()] = a.value(levels)
	}
	s["properties"] = properties
	if a.IntN(3) == 0 {
		s["required"] = []string{a.name()}
	}
	if a.IntN(3) == 0 {
		s["additionalProperties"] = a.IntN(2) == 0
	}
	if a.IntN(6) == 0 {
		s["dependencies"] = object{a.name(): []string{a.name()}}
	}
	return s
}

func (a author) root() object {
	s := a.object(2)
	s["$schema"] = a.draft
	s["definitions"] = object{"x": a.value(1), "y": a.object(1)}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		if a.IntN(3) > 0 {
			continue
		}
		var forms []any
		for range 1 + a.IntN(2) {
			forms = append(forms, pick[any](a, a.object(1), a.object(0), object{"required": []string{"a"}}, object{"$ref": "#/definitions/y"}))
		}
		s[name] = forms
	}
	s["required"] = []string{}
	for name := range s["properties"].(object) {
		if a.IntN(2) == 0 {
			s["required"] = []string{name}
		}
	}
	if a.draft == draft4 && len(s["required"].([]string)) == 0 {
		delete(s, "required")
	}
	return s
}

// argument returns a value for an argument.
func (a author) argument(levels int) any {
	switch a.IntN(4) {
	case 0:
		if levels > 0 {
			return a.arguments(levels - 1)
		}
	case 1:
		if levels > 0 {
			return []any{a.argument(levels - 1), a.argument(0)}
		}
	}
	return pick[any](a, nil, 1, 2, 3, "x", "y", []int{1})
}

func (a author) arguments(levels int) object {
	out := object{}
	for range a.IntN(4) {
		out[a.name()] = a.argument(levels)
	}
	return out
}

const (
	draft4    = "http://json-schema.org/draft-04/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// TestRewritingKeepsTheMeaning exports random schemas. If nothing is lost, a model's
// arguments are valid by the schema that it was given if and only if the tool's own schema
// takes what [llmschema.Offer.Arguments] makes of them.
func TestRewritingKeepsTheMeaning(t *testing.T) {
	t.Parallel()
	exact, compared := map[llmschema.Format]int{}, 0
	seeds := uint64(150)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		a := author{rand.New(rand.NewPCG(seed, 1)), ""}
		a.draft = pick(a, draft4, "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", draft2020)
		input := require.Must(json.Marshal(a.root()))(t)
		own, err := schema.CompileInput(input)
		if err != nil {
			continue // it refers to itself for the same value
		}
		for _, f := range llmschema.Formats() {
			offer, note := offerOf(t, f, string(input))
			got := inputOf(t, f, offer)
			if got == nil {
				continue
			}
			if text := refusal(f, got); text != "" {
				t.Errorf("seed %d, %s: the provider says %s\n%s\n%s", seed, f, text, input, got)
			}
			given, err := schema.CompileOutput(got) // what an input must not require is not asked here
			if err != nil {
				t.Errorf("seed %d, %s: %v\n%s\n%s", seed, f, err, input, got)
				continue
			}
			if len(note.Lost) > 0 {
				continue
			}
			exact[f]++
			for range 20 {
				args, _ := json.Marshal(renamedBy(note.Renamed, a.arguments(3)))
				restored := offer.Arguments("clock", args)
				is, was := given.Check(t.Context(), args), own.Check(t.Context(), restored)
				var limit *schema.LimitError
				if errors.As(is, &limit) || errors.As(was, &limit) {
					continue
				}
				compared++
				if (is == nil) != (was == nil) {
					t.Errorf("seed %d, %s: %s: %v for the model's schema, %v for the tool's (%s)\n%s\n%s",
						seed, f, args, is, was, restored, input, got)
					return
				}
			}
		}
	}
	for _, f := range llmschema.Formats() {
		if exact[f] < int(seeds)/10 { // most have what Gemini does not take //nolint:gosec // small
			t.Errorf("%s: only %d schemas are exported without a loss", f, exact[f])
		}
	}
	t.Logf("%v, %d values", exact, compared)
}

// renamedBy returns arguments as a model writes them that knows renamed properties.
func renamedBy(names map[string]string, v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for key, sub := range v {
			for exported, own := range names {
				if own == key {
					key = exported
				}
			}
			out[key] = renamedBy(names, sub)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = renamedBy(names, out[i])
		}
		return out
	}
	return v
}
