package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// fits returns the verdict of the text judge.
func (s *Schema) fits(value string) bool {
	fits, _ := s.fitsText([]byte(value), lightEffort, nil)
	return fits
}

// TestFitsText checks that the text judge handles the schemas of most tools,
// and leaves the rest to v5.
func TestFitsText(t *testing.T) {
	t.Parallel()
	const nested = `{"type":"object","properties":{"m":{"anyOf":[{"$ref":"#/$defs/m"},{"type":"null"}]},"l":{"type":"array","items":{"enum":["a",1,null]},"maxItems":3},"any":true},"required":["m"],"$defs":{"m":{"type":"object","properties":{"t":{"type":"string","maxLength":2}},"minProperties":1}}}`
	for _, c := range []struct {
		schema, value string
		want          bool
	}{
		{benchSchema, `{"path":"x","limit":1,"recursive":false}`, true},
		{benchSchema, " {\t\"path\" : \"x\" ,\r\n\"limit\":1e0 } ", true},
		{benchSchema, `{"p\u0061th":"\ud83d\ude00\n"}`, true},
		{benchSchema, `{}`, false},
		{benchSchema, `{"path":"x",}`, false},
		{benchSchema, `{"path":"x"} {}`, false},
		{benchSchema, `{"path":"x","path":"x"}`, false},
		{benchSchema, `{"path":"x","p\u0061th":"x"}`, false},
		{benchSchema, `{"path":"x","limit":0}`, false},
		{benchSchema, `{"path":"x","limit":1.5}`, false},
		{benchSchema, `{"path":"x","limit":01}`, false},
		{benchSchema, `{"path":"x","limit":1e9999}`, false},
		{benchSchema, `{"path":"x","more":1}`, false},
		{benchSchema, `{"path":null}`, false},
		{benchSchema, `{"path":tru}`, false},
		{benchSchema, `{"path":`, false},
		{benchSchema, `{"path"`, false},
		{benchSchema, `{"path":"\xff"}`, false},
		{benchSchema, "{\"path\":\"\xff\"}", false},
		{benchSchema, `["path"]`, false},
		{nested, `{"m":null}`, true},
		{nested, `{"m":{"t":"ab"},"l":["a",1.0,null],"any":[1,[true,"x"],{}]}`, true},
		{nested, `{"m":{"t":"abc"}}`, false},
		{nested, `{"m":{}}`, false},
		{nested, `{"m":null,"l":["b"]}`, false},
		{nested, `{"m":null,"l":["a","a","a","a"]}`, false},
		{nested, `{"m":null,"l":["a",]}`, false},
		{nested, `{"m":null,"any":{"a":1,"a":2}}`, false},
		{nested, `{"m":null,"any":` + strings.Repeat("[", maxValueLevels-1) + strings.Repeat("]", maxValueLevels-1) + `}`, true},
		{nested, `{"m":null,"any":` + strings.Repeat("[", maxValueLevels) + strings.Repeat("]", maxValueLevels) + `}`, false},
		{``, `{}`, true},
		{``, `{"a":1}`, false},
	} {
		s := mustInput(t, c.schema)
		assert.Equalf(t, s.fits(c.value), c.want, "%.100s fits as text", c.value)
		compareWithV5(t, s, asWritten(s), c.value)
	}
}

// TestFitsTextAgreesWithV5 compares the verdicts of the text judge and v5 on
// random typical schemas, with values that nearly fit.
func TestFitsTextAgreesWithV5(t *testing.T) {
	t.Parallel()
	d := dice{rand.New(rand.NewPCG(3, 4))}
	leaf := func() any {
		return pick[any](d,
			map[string]any{"type": "string", "minLength": 1},
			map[string]any{"type": "string", "pattern": "^a"},
			map[string]any{"enum": []any{"a", 1, nil, true}},
			map[string]any{"type": "integer", "maximum": 1},
			map[string]any{"type": []any{"number", "null"}, "exclusiveMinimum": 0},
			map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1},
			map[string]any{"$ref": "#/$defs/x"},
			map[string]any{"anyOf": []any{
				map[string]any{"$ref": "#/$defs/x"}, map[string]any{"type": []any{"boolean", "string"}},
			}},
			true, true)
	}
	fit, direct := 0, 0
	draws := 200
	if testing.Short() {
		draws = 80
	}
	for range draws {
		x := map[string]any{"type": "object", "properties": map[string]any{"a": leaf(), "b": leaf()}}
		root := map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"a": leaf(), "b": leaf(), "ab": leaf()},
			"required":             []any{"a"},
			"additionalProperties": d.IntN(4) == 0,
			"$defs":                map[string]any{"x": x},
		}
		text := require.Must(json.Marshal(root))(t)
		s := mustInput(t, string(text))
		v5 := asWritten(s)
		for range 20 {
			value, err := json.Marshal(map[string]any{"a": d.value(2), pick(d, "b", "b", "b", "c"): d.scalar()})
			require.NoError(t, err)
			compareWithV5(t, s, v5, string(value))
			if s.Check(t.Context(), value) == nil {
				fit++
			}
			if s.fits(string(value)) {
				direct++
			}
		}
	}
	if direct < draws || direct < fit/2 {
		t.Errorf("of %d values that fit, only %d do so as text", fit, direct)
	}
}

// TestFitsTextAllocatesNothing checks that the text is read in place and not
// copied, however large it is.
func TestFitsTextAllocatesNothing(t *testing.T) { //nolint:paralleltest // other tests' allocations would count
	s := mustInput(t, benchSchema)
	raw := []byte(`{"path":"` + strings.Repeat("x", 1<<16) + `","limit":20}`)
	if n := testing.AllocsPerRun(100, func() {
		require.NoError(t, s.Check(t.Context(), raw))
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
