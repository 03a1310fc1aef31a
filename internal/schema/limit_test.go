package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// each repeats a format n times, joined by commas, and replaces @ by the
// number.
func each(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "@", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// nest wraps inner in the given number of levels of a schema keyword.
func nest(levels int, open, inner string) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat("}", levels)
}

// within fails the test if f takes 20 times as long as it should: without a
// limit, it would take seconds to years, not milliseconds.
func within(t *testing.T, expected time.Duration, f func()) {
	t.Helper()
	ceiling := 20 * expected
	if raceEnabled {
		ceiling *= 10
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := busy(t)
	f()
	if took := busy(t) - start; took > ceiling {
		t.Errorf("took %v, more than %v", took, ceiling)
	}
}

// wideFolds returns a regular expression of the given size with many ranges,
// each of which takes the parser three milliseconds.
func wideFolds(bytes int) string {
	return "(?i)[" + strings.Repeat(" -\uffff", bytes/5) + "]"
}

const tooSlowPatterns = `at #: the patterns take too long to read; use fewer classes such as \p{L}, and fewer ranges beyond ASCII with (?i)`

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const draft07, draft04 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"http://json-schema.org/draft-04/schema#"`
	for _, c := range []struct{ schema, want string }{
		// shape
		{`{`, `malformed JSON at byte 1: expected a key`},
		{`{"a":{"b":1,"b":2}}`, `duplicate key "b" in a`},
		{`{"$defs":{"a":1}}`, `at #/$defs/a: a schema must be an object or a boolean, not an integer`},
		{`null`, `at #: a schema must be an object or a boolean, not null`},
		{`{"properties":[]}`, `at #: properties must be an object of schemas`},
		{`{"allOf":[]}`, `at #: allOf must be an array of schemas, not empty`},
		{`{"allOf":{}}`, `at #: allOf must be an array of schemas, not empty`},
		{`{"items":[{}]}`, `at #: items must be one schema in draft 2020-12; use prefixItems`},
		{`{"items":{"minLength":-1}}`, `at #/items: minLength must be an integer from 0 up`},
		{`{"minItems":1.5}`, `at #: minItems must be an integer from 0 up`},
		{`{"maxItems":"1"}`, `at #: maxItems must be an integer from 0 up`},
		{`{"multipleOf":0}`, `at #: multipleOf must be a number above 0`},
		{`{"minimum":"1"}`, `at #: minimum must be a number`},
		{`{"exclusiveMinimum":true,"minimum":1}`, `at #: exclusiveMinimum must be a number`},
		{`{"exclusiveMinimum":1,` + draft04 + `}`, `at #: exclusiveMinimum must be true or false, next to minimum, in draft-04`},
		{`{"required":"a"}`, `at #: required must be an array of different strings`},
		{`{"required":["a","a"]}`, `at #: required must be an array of different strings`},
		{`{"dependentRequired":{"a":[1]}}`, `at #: dependentRequired must be an object of arrays of different strings`},
		{`{"dependencies":{"a":[1]}}`, `at #: dependencies must have schemas or arrays of different names`},
		{`{"type":"text"}`, `at #: type must be a type or an array of different types`},
		{`{"type":["null","null"]}`, `at #: type must be a type or an array of different types`},
		{`{"type":[]}`, `at #: type must be a type or an array of different types`},
		{`{"enum":{}}`, `at #: enum must be an array of values`},
		{`{"title":1}`, `at #: title must be a string`},
		{`{"uniqueItems":1}`, `at #: uniqueItems must be true or false`},
		{`{"not":{"examples":{}}}`, `at #/not: examples must be an array`},
		{`{"properties":{"a":true},` + draft04 + `}`, `at #/properties/a: draft-04 has no boolean schemas`},
		{`{"enum":[1,1],` + draft07 + `}`, `the schema does not compile: its draft does not allow what is at #/enum`},

		// hidden characters
		{`{"description":"a\u200bb"}`, `the text "a\u200bb" has a hidden character, U+200B: leave it out, or write \x{200B} in a pattern`},
		{`{"properties":{"a":{"enum":["x","\ud83d\udc68\u200d\ud83d\udc69","` + "\U000e0041" + `"]}}}`, `the text "\U000e0041" has a hidden character, U+E0041: leave it out, or write \x{E0041} in a pattern`},
		{`{"$defs":{"\u2028":{}}}`, `the text "\u2028" has a hidden character, U+2028: leave it out, or write \x{2028} in a pattern`},
		{`{"default":[{"a":"` + strings.Repeat("x", 100) + `\u061c"}]}`, `the text "` + strings.Repeat("x", 32) + `\u061c" has a hidden character, U+061C: leave it out, or write \x{61C} in a pattern`},

		// patterns
		{`{"pattern":"("}`, `at #: the pattern "(" does not compile: missing closing ): "("`},
		{`{"pattern":"a**"}`, `at #: the pattern "a**" does not compile: invalid nested repetition operator: "**"`},
		{`{"patternProperties":{"[":{}}}`, `at #: the pattern "[" does not compile: missing closing ]: "["`},
		{`{"pattern":"` + strings.Repeat("a", 4097) + `"}`, `at #: a pattern has 4097 bytes, more than 4096`},
		{`{"pattern":"` + strings.Repeat(`a{1000}`, 500) + `"}`, `at #: the patterns are too large together; use maxLength in place of long repeats`},
		{`{"pattern":"` + wideFolds(4000) + `"}`, tooSlowPatterns},
		{`{"allOf":[` + each(3, `{"pattern":"@[`+strings.Repeat(`\\pL`, 1200)+`]"}`) + `]}`, `at #/allOf/0: ` + tooSlowPatterns[len("at #: "):]},
		{`{"allOf":[` + each(1500, `{"pattern":"a@{0,999}"}`) + `]}`, `at #/allOf/49: the patterns are too large together; use maxLength in place of long repeats`},

		// names and references
		{`{"$schema":"https://example.com/schema"}`, `unknown $schema "https://example.com/schema"; use https://json-schema.org/draft/2020-12/schema or leave it out`},
		{`{"$schema":"json-schema.org/draft-07/schema"}`, `unknown $schema "json-schema.org/draft-07/schema"; use https://json-schema.org/draft/2020-12/schema or leave it out`},
		{`{"$schema":"https://http://json-schema.org/draft-07/schema"}`, `unknown $schema "https://http://json-schema.org/draft-07/schema"; use https://json-schema.org/draft/2020-12/schema or leave it out`},
		{`{"$schema":7}`, `unknown $schema 7; use https://json-schema.org/draft/2020-12/schema or leave it out`},
		{`{"$ref":"#/$defs/a"}`, `at #: $ref "#/$defs/a" does not resolve to a schema`},
		{`{"$ref":"#/$defs","$defs":{}}`, `at #: $ref "#/$defs" does not resolve to a schema`},
		{`{"$ref":"#/x","x":{}}`, `at #: $ref "#/x" does not resolve to a schema`},
		{`{"$ref":"#/"}`, `at #: $ref "#/" does not resolve to a schema`},
		{`{"$ref":"#a","$defs":{"a":{"$anchor":"a"}}}`, `at #: $ref "#a": references must be "#" or begin with "#/"`},
		{`{"$ref":"#/%zz"}`, `at #: $ref "#/%zz": references must be "#" or begin with "#/"`},
		{`{"$ref":""}`, `at #: $ref "": references must be "#" or begin with "#/"`},
		{`{"$ref":"file:///etc/passwd"}`, `at #: $ref "file:///etc/passwd": references must be "#" or begin with "#/"`},
		{`{"$ref":"https://example.com/#/a"}`, `at #: $ref "https://example.com/#/a": references must be "#" or begin with "#/"`},
		{`{"$ref":"` + base + `#"}`, `at #: $ref "` + base + `#": references must be "#" or begin with "#/"`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `at #: $ref "https://json-schema.org/draft/2020-12/schema": references must be "#" or begin with "#/"`},
		{`{"$ref":{}}`, `at #: $ref must be a string`},
		{`{"not":{"$id":"x"}}`, `at #/not: $id is refused below the root`},
		{`{"not":{"id":"x"},` + draft04 + `}`, `at #/not: id is refused below the root`},
		{`{"$vocabulary":{}}`, `at #: $vocabulary is refused: vocabularies cannot be chosen`},
		{`{"$dynamicRef":"#"}`, `at #: $dynamicRef is refused: dynamic references are not supported`},
		{`{"$recursiveRef":"#"}`, `at #: $recursiveRef is refused: dynamic references are not supported`},
		{`{"$ref":"#"}`, `at #: refers to itself for one and the same value, which never ends`},
		{`{"$defs":{"a":{"allOf":[{"not":{"$ref":"#/$defs/a"}}]}}}`, `at #/$defs/a/allOf/0/not: refers to itself for one and the same value, which never ends`},
		{`{"dependentSchemas":{"a":{"if":{"$ref":"#"}}}}`, `at #/dependentSchemas/a/if: refers to itself for one and the same value, which never ends`},

		// sizes
		{`{"title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, `the schema has 262156 bytes, more than 262144`},
		{nest(64, `{"not":`, `{}`), `nested deeper than 64 levels`},
		{`{"default":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, `nested deeper than 64 levels`},
		{`{"enum":[` + each(1001, `@`) + `]}`, `at #: enum has more than 1000 values, inner ones included`},
		{`{"enum":[[` + each(1000, `@`) + `]]}`, `at #: enum has more than 1000 values, inner ones included`},
		{`{"anyOf":[` + each(2000, `{}`) + `]}`, `more than 2000 subschemas`},
		{`{"properties":{"` + strings.Repeat("x", 5000) + `":{}}}`, `at #/properties/` + strings.Repeat("x", 499) + `...: the names above the subschemas are too long`},
		{`{"properties":{"` + strings.Repeat("x", 1000) + `":{"anyOf":[` + each(1500, `{}`) + `]}}}`, `at #/properties/` + strings.Repeat("x", 499) + `...: the names above the subschemas are too long`},
		{`{"required":[` + each(30000, `1`) + `]}`, `at #: required must be an array of different strings`},
	} {
		within(t, 50*time.Millisecond, func() {
			_, err := CompileOutput(json.RawMessage(c.schema))
			if err == nil || err.Error() != c.want {
				t.Errorf("%.100s: %v\n want %s", c.schema, err, c.want)
			}
		})
	}
}

func TestCompileInputRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, want string }{
		{`true`, `the root must have "type": "object"`},
		{`null`, `the root must have "type": "object"`},
		{`{}`, `the root must have "type": "object"`},
		{`{"type":"array"}`, `the root must have "type": "object"`},
		{`{"type":["object"]}`, `the root must have "type": "object"`},
		{`{"type":"object","required":["x"]}`, `required name "x" is not among the properties`},
		{`{"type":"object","properties":{"a":{}},"required":["a","x"]}`, `required name "x" is not among the properties`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"properties":{"b":{}},"required":["b","x"]}}}}`,
			`required name "x" is not among the properties at "#/properties/a/items"`},
		{`{"type":"object","properties":{"a":{"properties":{"b":{}},"required":["x"],"additionalProperties":false}}}`,
			`required name "x" is not among the properties at "#/properties/a"`},
	} {
		_, err := CompileInput(json.RawMessage(c.schema))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\n want %s", c.schema, err, c.want)
		}
	}
	// Below the root and in results, required may list any names.
	mustInput(t, object(`"a":{"required":["b"]}`, ``))
	mustOutput(t, `{"type":"object","required":["x"]}`)
}

// TestSchemasThatMultiply checks that schemas whose evaluations multiply, immediately or
// with each level of a value, compile quickly, and that the values which would take them
// long are refused quickly. Values that only repeat fit.
func TestSchemasThatMultiply(t *testing.T) {
	t.Parallel()
	chain := func(keyword string) string {
		var defs strings.Builder
		for i := range 30 {
			fmt.Fprintf(&defs, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d30":{"type":"integer"}}}`
	}
	late := func(levels int) string { // starts to double only after some levels
		var defs strings.Builder
		for i := range levels {
			fmt.Fprintf(&defs, `"d%d":{"items":{"$ref":"#/$defs/d%d"}},`, i, i+1)
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s"d%d":{"items":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}}}}`, defs.String(), levels, levels, levels)
	}
	const (
		twice   = `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`
		tooLong = "the result would take too long to check against the schema"
		anyJSON = `{"anyOf":[{"type":["string","number","boolean","null"]},{"type":"array","items":{"$ref":"#"}},` +
			`{"type":"object","additionalProperties":{"$ref":"#"}}]}`
		expression = `{"oneOf":[{"properties":{"op":{"const":"and"},"args":{"items":{"$ref":"#"}}}},` +
			`{"properties":{"op":{"const":"or"},"args":{"items":{"$ref":"#"}}}}]}`
	)
	arrays := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	for name, c := range map[string]struct{ schema, value, want string }{
		"a list":                   {`{"properties":{"a":{"$ref":"#"}}}`, nest(120, `{"a":`, `1`), ``},
		"a binary tree":            {`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`, nest(120, `{"a":`, `1`), ``},
		"a tree of arrays":         {`{"items":{"$ref":"#"}}`, arrays(120), ``},
		"any JSON, deep":           {anyJSON, arrays(60) + ` `, ``},
		"any JSON, wide":           {anyJSON, `[` + each(20_000, `{"a":[@,{}]}`) + `]`, ``},
		"an expression":            {expression, nest(10, `{"op":"or","args":`, `[]`), ``},
		"a deep expression":        {expression, strings.Repeat(`{"op":"or","args":[`, 60) + strings.Repeat(`]}`, 60), tooLong},
		"unused":                   {`{"$defs":{"a":{"items":` + twice + `}}}`, `[]`, ``},
		"itself twice in allOf":    {`{"properties":{"a":` + twice + `}}`, nest(60, `{"a":`, `1`), tooLong},
		"itself twice in items":    {`{"items":` + twice + `}`, arrays(60), tooLong},
		"itself twice behind":      {`{"prefixItems":[` + twice + `]}`, arrays(60), tooLong},
		"in an item and a member":  {`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, arrays(60), tooLong},
		"by name and by pattern":   {`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`, nest(60, `{"a":`, `1`), tooLong},
		"by two patterns":          {`{"patternProperties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`, nest(60, `{"ab":`, `1`), tooLong},
		"the condition's two ways": {`{"if":{"items":{"$ref":"#"}},"then":{"items":{"$ref":"#"}}}`, arrays(60), tooLong},
		"two dependent schemas":    {`{"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#"}}},"b":{"properties":{"a":{"$ref":"#"}}}}}`, nest(60, `{"b":1,"a":`, `1`), tooLong},
		"a chain of allOf":         {chain("allOf"), `1`, tooLong},
		"a chain of anyOf":         {chain("anyOf"), `"x"`, tooLong},
		"a chain of oneOf":         {chain("oneOf"), `1`, tooLong},
		"one that doubles late":    {late(100), arrays(127), tooLong},
		"a wide one in each level": {`{"items":{"allOf":[{"$ref":"#"},` + each(100, `{"not":{"const":0}}`) + `]}}`, arrays(127), tooLong},
	} {
		within(t, 50*time.Millisecond, func() {
			s, err := CompileOutput(json.RawMessage(c.schema))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			got := ""
			if err := s.Check(t.Context(), []byte(c.value)); err != nil {
				got = err.Error()
			}
			assert.Equalf(t, got, c.want, "%s", name)
		})
	}
}

// TestCompileLargest checks that v5 compiles the largest accepted schemas in
// bounded time.
func TestCompileLargest(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"flat":              `{"properties":{` + each(1990, `"p@":{"type":"string"}`) + `}}`,
		"deep":              nest(60, `{"not":`, `{"properties":{`+each(1900, `"p@":{}`)+`}}`),
		"deep 2019":         `{"$schema":"https://json-schema.org/draft/2019-09/schema","not":` + nest(58, `{"not":`, `{"properties":{`+each(1900, `"p@":{}`)+`}}`) + `}`,
		"deep 07":           `{"$schema":"http://json-schema.org/draft-07/schema","not":` + nest(58, `{"not":`, `{"properties":{`+each(1900, `"p@":{}`)+`}}`) + `}`,
		"references":        `{"properties":{` + each(1990, `"p@":{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{}}}`,
		"$defs in draft-07": `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{` + each(900, `"p@":{"$ref":"#/$defs/d@"}`) + `},"$defs":{` + each(900, `"d@":{}`) + `}}`,
	} {
		within(t, 500*time.Millisecond, func() {
			if _, err := CompileOutput(json.RawMessage(schema)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestCheckIsBounded checks that values and errors too numerous for v5 are
// counted before v5 sees them.
func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 70 {
		fmt.Fprintf(&defs, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	chain := `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + defs.String() + `"d70":{"$ref":"#","type":["object","string"]}}}`
	nines := strings.Repeat("9", 90) + "e-999"
	const tooLong = "the result would take too long to check against the schema"
	for name, c := range map[string]struct {
		schema, value string
		want          string // "": the value fits
	}{
		// v5 alone takes minutes or more for these
		"regular expressions": {`{"items":{"format":"regex"}}`, `[` + each(6000, `"`+strings.Repeat(`(\\pL{999})?`, 20)+`"`) + `]`, tooLong},
		"slow expressions":    {`{"items":{"format":"regex"}}`, `[` + each(20, `"`+wideFolds(250)+`"`) + `]`, tooLong},
		"a wide pattern":      {`{"pattern":"` + strings.Repeat("([ab]{0,999})", 20) + `c$"}`, `"` + strings.Repeat("ab", 1200) + `"`, tooLong},
		"errors far down":     {chain, nest(127, `{"a":`, `1`), tooLong},
		"colliding hashes":    {`{"uniqueItems":true}`, `[` + collisions(400) + `]`, ``},
		"a pattern":           {`{"items":{"pattern":"[ab]{0,999}c"}}`, `["` + strings.Repeat("ab", 5<<20) + `"]`, tooLong},
		"a pattern of names":  {`{"patternProperties":{"[ab]{0,999}c":{}}}`, `{"` + strings.Repeat("ab", 5<<20) + `":1}`, tooLong},
		"many evaluations":    {`{"items":{"oneOf":[` + each(1500, `{"type":"string"}`) + `]}}`, `[` + each(100_000, `1`) + `]`, tooLong},
		"a large enum":        {`{"items":{"enum":[` + each(999, `@e900`) + `]}}`, `[` + each(500, `1e-1000`) + `]`, tooLong},
		"a duration":          {`{"format":"duration"}`, `"P` + strings.Repeat("1Y", 5<<20) + `"`, `invalid result: "P` + strings.Repeat("1Y", 31) + `1"... is not a duration such as P1DT12H`},
		"a quadratic message": {`{"allOf":[` + each(900, `{"additionalProperties":false}`) + `]}`, `{"` + strings.Repeat("x", 1<<20) + `":1}`, tooLong},
		"a long way":          {`{"additionalProperties":{"items":{"not":{"type":"null"}}}}`, `{"` + strings.Repeat("x", 1<<20) + `":[` + each(10_000, `1`) + `]}`, tooLong},
		"a million errors":    {`{"items":{"type":"string"}}`, `[` + each(1_000_000, `1`) + `]`, tooLong},
		// these are accepted
		"a million values":    {`{"items":{"type":"integer","minimum":0}}`, `[` + each(1_000_000, `@`) + `]`, ``},
		"a large text":        {`{"properties":{"a":{"pattern":"^[A-Za-z0-9+/]*={0,2}$"}}}`, `{"a":"` + strings.Repeat("AAAA", 1<<20) + `"}`, ``},
		"a large other value": {`{"properties":{"a":{"type":"integer"},"b":{"items":{}}}}`, `{"a":"x","b":"` + strings.Repeat("AAAA", 1<<20) + `"}`, "invalid value for a: expected integer, got string"},
		"a thousand errors":   {`{"items":{"type":"string"}}`, `[` + each(10_000, `1`) + `]`, "invalid value for [0]: expected string, got integer"},
		"long numbers":        {`{"items":{"multipleOf":3}}`, `[` + each(1000, nines) + `]`, "invalid value for [0]: " + nines[:64] + "... is not a multiple of 3"},
		"some expressions":    {`{"items":{"format":"regex"}}`, `[` + each(300, `"^(?i)[a-z0-9._-]+@(\\p{L}|\\d)*$"`) + `]`, ``},
		"a deep tree":         {`{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`, nest(127, `{"left":`, `{}`), ``},
		"a deep list, oneOf":  {`{"type":"object","properties":{"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]}}}`, nest(40, `{"next":`, `null`), ``},
	} {
		s := mustOutput(t, c.schema)
		within(t, 500*time.Millisecond, func() {
			got := ""
			if err := s.Check(t.Context(), []byte(c.value)); err != nil {
				got, _, _ = strings.Cut(err.Error(), "; ")
			}
			assert.Equalf(t, got, c.want, "%s", name)
		})
	}
}

// collisions returns arrays that have the same hash in v5, which hashes the
// start of an array but not its end.
func collisions(n int) string {
	const brackets = 8
	var shapes []string
	var grow func(shape string, open, closed int)
	grow = func(shape string, open, closed int) {
		if len(shapes) == n {
			return
		}
		if open == brackets && closed == brackets {
			shapes = append(shapes, "["+each(100, "1")+","+strings.ReplaceAll(shape, "][", "],[")+"]")
			return
		}
		if open < brackets {
			grow(shape+"[", open+1, closed)
		}
		if closed < open-1 || open == brackets {
			grow(shape+"]", open, closed+1)
		}
	}
	grow("", 0, 0)
	return strings.Join(shapes, ",")
}

// A required name that another subschema may describe is not a mistake.
func TestRequiredElsewhere(t *testing.T) {
	t.Parallel()
	for _, inner := range []string{
		`{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"properties":{"a":{}},"required":["b"]}]}`,
		`{"allOf":[{"properties":{"a":{"type":"object","properties":{"x":{}},"required":["y"]}}}]}`,
		`{"properties":{"a":{}},"required":["x"],"additionalProperties":{"type":"string"}}`,
		`{"properties":{"a":{}},"required":["x1"],"patternProperties":{"^x":{}}}`,
		`{"required":["x"]}`, `{"$ref":"#/$defs/base","properties":{"a":{}},"required":["x"]}`,
	} {
		text := `{"type":"object","properties":{"in":` + inner + `},"$defs":{"base":{"properties":{"x":{}}},"more":{"properties":{"a":{}},"required":["x"]}}}`
		if _, err := CompileInput([]byte(text)); err != nil {
			t.Errorf("%s: %v", inner, err)
		}
	}
}
