package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// object returns an input schema with these properties and more keywords.
func object(properties, more string) string {
	return `{"type":"object","properties":{` + properties + `}` + more + `}`
}

func mustInput(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := CompileInput(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

func mustOutput(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := CompileOutput(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

func TestCheckArguments(t *testing.T) {
	t.Parallel()
	const draft04, draft07 = `,"$schema":"http://json-schema.org/draft-04/schema#"`, `,"$schema":"http://json-schema.org/draft-07/schema#"`
	const closed = `,"additionalProperties":false`
	const shape = `"s":{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
		{"type":"object","properties":{"kind":{"const":"square"},"a":{"type":"number"}},"required":["kind","a"]}]}`
	for _, c := range []struct {
		schema, args string
		want         string // "": the value fits
	}{
		// names
		{object(`"f":{}`, `,"required":["f"]`), `{"f":null}`, ``},
		{object(`"f":{}`, `,"required":["f"]`), ``, `missing required argument: f`},
		{object(`"f":{},"e":{},"g":{}`, `,"required":["f","e","g"]`), `{"g":1}`, `missing required argument: e; missing required argument: f`},
		{object(`"opts":{"required":["f"]}`, ``), `{"opts":{}}`, `missing required argument: opts.f`},
		{object(`"f":{}`, closed), `{"f":1,"h":1,"g":1}`, `unexpected argument: g; unexpected argument: h`},
		{object(`"opts":{"additionalProperties":false}`, ``), `{"opts":{"f":1}}`, `unexpected argument: opts.f`},
		{object(``, `,"patternProperties":{"^x-":{}}`+closed), `{"x-a":1,"y":1}`, `unexpected argument: y`},
		{object(`"f":false`, ``), `{"f":1}`, `unexpected argument: f`},
		{object(`"f":{}`, `,"unevaluatedProperties":false`), `{"f":1,"g":1}`, `unexpected argument: g`},
		{object(``, closed), `{"a.b":1,"":1,"a b":1,"new\nline":1}`, `unexpected argument: ""; unexpected argument: "a b"; unexpected argument: "a.b"; unexpected argument: "new\nline"`},
		{object(``, `,"propertyNames":{"maxLength":2}`), `{"abc":1}`, `invalid name for abc: is too long: 3 characters, at most 2`},
		{object(`"o":{"propertyNames":{"$ref":"#/$defs/n"}}`, `,"$defs":{"n":{"enum":["a"]}}`), `{"o":{"b":1}}`, `invalid name for o.b: "b" is not "a"`},
		{object(``, `,"dependentRequired":{"a":["b","c"]}`), `{"a":1,"c":1}`, `missing required argument: b (a needs it)`},
		{object(``, `,"dependencies":{"a":["b"]}`+draft07), `{"a":1}`, `missing required argument: b (a needs it)`},
		{object(``, `,"dependentSchemas":{"a":{"required":["b"]}}`), `{"a":1}`, `missing required argument: b`},

		// types
		{object(`"f":{"type":"string"}`, ``), `{"f":3}`, `invalid value for f: expected string, got integer`},
		{object(`"f":{"type":"string"}`, ``), `{"f":3.0}`, `invalid value for f: expected string, got integer`},
		{object(`"f":{"type":"string"}`, ``), `{"f":1.5}`, `invalid value for f: expected string, got number`},
		{object(`"f":{"type":"integer"}`, ``), `{"f":1.5}`, `invalid value for f: expected integer, got number`},
		{object(`"f":{"type":"integer"}`, ``), `{"f":3.0}`, ``},
		{object(`"f":{"type":"number"}`, ``), `{"f":"1"}`, `invalid value for f: expected number, got string`},
		{object(`"f":{"type":["string","null"]}`, ``), `{"f":true}`, `invalid value for f: expected string or null, got boolean`},
		{object(`"f":{"type":"array"}`, ``), `{"f":{}}`, `invalid value for f: expected array, got object`},
		{object(`"f":{"type":"object"}`, ``), `{"f":[]}`, `invalid value for f: expected object, got array`},
		{object(`"f":{"type":"boolean"}`, ``), `{"f":null}`, `invalid value for f: expected boolean, got null`},
		{object(``, ``), `[]`, `arguments must be an object, got array`},
		{object(``, ``), `"x"`, `arguments must be an object, got string`},
		{object(``, `,"$ref":"#/definitions/any","definitions":{"any":{}}`+draft07), `[]`, `arguments must be an object, got array`},

		// places
		{object(`"opts":{"properties":{"items":{"items":{"properties":{"name":{"type":"string"}}}}}}`, ``), `{"opts":{"items":[{},{},{"name":1}]}}`, `invalid value for opts.items[2].name: expected string, got integer`},
		{object(`"a/b~c%d":{"properties":{"é ü":{"type":"string"}}}`, ``), `{"a/b~c%d":{"é ü":1}}`, `invalid value for "a/b~c%d"["é ü"]: expected string, got integer`},
		{object(`"a":{"items":{"type":"null"}}`, ``), `{"a":[null,null,1,null,null,null,null,null,null,null,2]}`, `invalid value for a[2]: expected null, got integer; invalid value for a[10]: expected null, got integer`},
		{object(`"":{"type":"string"}`, ``), `{"":1}`, `invalid value for a member with an empty name: breaks the rule type`},
		{object(`"a":{"properties":{"":{"required":["x"]}}}`, ``), `{"a":{"":{}}}`, `invalid value for a member with an empty name: breaks the rule required`},

		// strings
		{object(`"path":{"pattern":"^[^/].*$"}`, ``), `{"path":"/etc"}`, `invalid value for path: "/etc" does not match the pattern ^[^/].*$`},
		{object(`"f":{"pattern":"^a$"}`, ``), `{"f":"` + strings.Repeat("é", 65) + `"}`, `invalid value for f: "` + strings.Repeat("é", 64) + `"... does not match the pattern ^a$`},
		{object(`"f":{"pattern":"a\nb"}`, ``), `{"f":""}`, `invalid value for f: "" does not match the pattern "a\nb"`},
		{object(`"f":{"minLength":1}`, ``), `{"f":""}`, `invalid value for f: is too short: 0 characters, at least 1`},
		{object(`"f":{"minLength":2}`, ``), `{"f":"é"}`, `invalid value for f: is too short: 1 character, at least 2`},
		{object(`"f":{"maxLength":2}`, ``), `{"f":"ééé"}`, `invalid value for f: is too long: 3 characters, at most 2`},
		{object(`"f":{"maxLength":18446744073709551615}`, ``), `{"f":"x"}`, ``},
		{object(`"f":{"maxLength":18446744073709551615,"not":{"type":"null"}}`, ``), `{"f":"x"}`, ``},
		{object(`"f":{"format":"date"}`, ``), `{"f":"today"}`, `invalid value for f: "today" is not a date such as 2026-11-22`},
		{object(`"f":{"format":"date"}`, draft07), `{"f":"today"}`, `invalid value for f: "today" is not a date such as 2026-11-22`},
		{object(`"f":{"format":"date"}`, ``), `{"f":"2024-02-29"}`, ``},
		{object(`"f":{"format":"no such format"}`, ``), `{"f":"x"}`, ``},
		{object(`"f":{"contentEncoding":"base64"}`, draft07), `{"f":"%"}`, ``},

		// numbers
		{object(`"n":{"minimum":1}`, ``), `{"n":0}`, `invalid value for n: 0 is too small, at least 1`},
		{object(`"n":{"minimum":1}`, ``), `{"n":1.0}`, ``},
		{object(`"n":{"exclusiveMinimum":0}`, ``), `{"n":0}`, `invalid value for n: 0 is too small, more than 0`},
		{object(`"n":{"maximum":10}`, ``), `{"n":10.5}`, `invalid value for n: 10.5 is too large, at most 10`},
		{object(`"n":{"exclusiveMaximum":10}`, ``), `{"n":10}`, `invalid value for n: 10 is too large, less than 10`},
		{object(`"n":{"maximum":10,"exclusiveMaximum":true}`, draft04), `{"n":10}`, `invalid value for n: 10 is too large, less than 10`},
		{object(`"n":{"multipleOf":0.1}`, ``), `{"n":0.25}`, `invalid value for n: 0.25 is not a multiple of 0.1`},
		{object(`"n":{"minimum":-1e1000}`, ``), `{"n":-1e999}`, ``},

		// values
		{object(`"mode":{"enum":["a","b"]}`, ``), `{"mode":"x"}`, `invalid value for mode: "x" is not one of "a", "b"`},
		{object(`"mode":{"enum":["a",1,true,null,{"a":[2]}]}`, ``), `{"mode":{"a":[3]}}`, `invalid value for mode: {"a":[3]} is not one of "a", 1, true, null, {"a":[2]}`},
		{object(`"mode":{"enum":["a",1,null]}`, ``), `{"mode":1.0}`, ``},
		{object(`"mode":{"const":"a"}`, ``), `{"mode":"x"}`, `invalid value for mode: "x" is not "a"`},
		{object(`"mode":{"enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}`, ``), `{"mode":99}`, `invalid value for mode: 99 is not one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 2 more`},

		// arrays and objects
		{object(`"a":{"minItems":1}`, ``), `{"a":[]}`, `invalid value for a: has too few items: 0, at least 1`},
		{object(`"a":{"maxItems":1}`, ``), `{"a":[1,2]}`, `invalid value for a: has too many items: 2, at most 1`},
		{object(`"a":{"uniqueItems":true}`, ``), `{"a":[{"x":1,"y":2},3,{"y":2.0,"x":1}]}`, `invalid value for a: items 0 and 2 are the same`},
		{object(`"a":{"uniqueItems":true}`, ``), `{"a":[1,"1",true,[1],{"1":1},-1,10]}`, ``},
		{object(`"a":{"uniqueItems":true,"contains":{"const":2}}`, ``), `{"a":[1,1]}`, `invalid value for a: too few items are of the kind that it must contain, at least 1; invalid value for a: items 0 and 1 are the same`},
		{object(`"a":{"uniqueItems":false}`, ``), `{"a":[1,1]}`, ``},
		{object(`"a":{"contains":{"const":1}}`, ``), `{"a":[2]}`, `invalid value for a: too few items are of the kind that it must contain, at least 1`},
		{object(`"a":{"contains":{"const":1},"minContains":2,"maxContains":3}`, ``), `{"a":[1,1,1,1]}`, `invalid value for a: too many items are of the kind that it may contain, at most 3`},
		{object(`"a":{"prefixItems":[{"type":"string"}],"items":false}`, ``), `{"a":["x",2]}`, `invalid value for a[1]: nothing is allowed here`},
		{object(`"a":{"items":[{},{}],"additionalItems":false}`, draft07), `{"a":[1,2,3]}`, `invalid value for a: has too many items: 3, at most 2`},
		{object(`"a":{"items":[{"type":"string"}]}`, draft07), `{"a":[1,2]}`, `invalid value for a[0]: expected string, got integer`},
		{object(``, `,"minProperties":1`), `{}`, `invalid arguments: has too few properties: 0, at least 1`},
		{object(`"o":{"maxProperties":1}`, ``), `{"o":{"a":1,"b":2}}`, `invalid value for o: has too many properties: 2, at most 1`},

		// forms
		{object(`"f":{"anyOf":[{"type":"string"},{"type":"null"}]}`, ``), `{"f":1}`, `invalid value for f: expected string or null, got integer`},
		{object(`"f":{"anyOf":[{"$ref":"#/$defs/s"},{"type":["null","string"]}]}`, `,"$defs":{"s":{"type":"string"}}`), `{"f":1}`, `invalid value for f: expected string or null, got integer`},
		{object(`"f":{"anyOf":[{"const":"a"},{"enum":["b","a"]}]}`, ``), `{"f":"x"}`, `invalid value for f: "x" is not one of "a", "b"`},
		{object(`"f":{"anyOf":[{"type":"null"},{"type":"object","required":["x"]}]}`, ``), `{"f":{}}`, `invalid value for f: fits none of the allowed forms (closest: missing required argument: f.x)`},
		{object(`"f":{"anyOf":[{"minLength":3},{"pattern":"^a"}]}`, ``), `{"f":"b"}`, `invalid value for f: fits none of the allowed forms`},
		{object(shape, ``), `{"s":{"kind":"square"}}`, `invalid value for s: fits none of the allowed forms (closest: missing required argument: s.a)`},
		{object(shape, ``), `{"s":{"kind":"line"}}`, `invalid value for s: fits none of the allowed forms`},
		{object(`"f":{"oneOf":[{"minimum":1},{"minimum":2}]}`, ``), `{"f":3}`, `invalid value for f: fits more than one of the forms, of which only one is allowed`},
		{object(`"f":{"not":{"type":"string"}}`, ``), `{"f":"x"}`, `invalid value for f: has a form that is not allowed`},
		{object(`"f":{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`, ``), `{"f":1}`, `invalid value for f: 1 is too small, at least 2`},
		{object(`"f":{"allOf":[{"minimum":2},{"multipleOf":2}]}`, ``), `{"f":1}`, `invalid value for f: 1 is too small, at least 2; invalid value for f: 1 is not a multiple of 2`},

		{object(`"f":{"oneOf":[{"type":"null"},{"type":"object","properties":{"g":{"oneOf":[{"type":"null"},{"type":"array","minItems":1}]}}}]}`, ``), `{"f":{"g":[]}}`, `invalid value for f: fits none of the allowed forms (closest: invalid value for f.g: has too few items: 0, at least 1)`},

		// order and number
		{object(`"a":{"type":"string"},"b":{}`, `,"required":["b"]`+closed), `{"a":1,"z":1}`, `missing required argument: b; unexpected argument: z; invalid value for a: expected string, got integer`},
		{object(``, `,"allOf":[{"required":["b"]},{"required":["b","a"]}]`), `{}`, `missing required argument: a; missing required argument: b`},
		{object(`"a":{"items":{"type":"null"}}`, ``), `{"a":[1,1,1,1,1,1,1]}`, `invalid value for a[0]: expected null, got integer; invalid value for a[1]: expected null, got integer; invalid value for a[2]: expected null, got integer; invalid value for a[3]: expected null, got integer; invalid value for a[4]: expected null, got integer; and 2 more`},

		// not a matter of the schema
		{object(``, ``), `{"a":1,"a":2}`, `duplicate key "a"`},
		{object(``, ``), `{"a":1`, `malformed JSON at byte 6: expected ',' or '}'`},
		{``, ``, ``},
		{``, `{}`, ``},
		{``, `{"x":1}`, `unexpected argument: x`},

		// references
		{object(`"n":{"$ref":"#/$defs/a%20b~1c"}`, `,"$defs":{"a b/c":{"type":"integer"}}`), `{"n":"1"}`, `invalid value for n: expected integer, got string`},
		{object(`"n":{"$ref":"#/%24defs/%61"}`, `,"$defs":{"a":{"type":"integer"}}`+draft07), `{"n":"1"}`, `invalid value for n: expected integer, got string`},
		{object(`"n":{"$ref":"#"}`, closed), `{"n":{"n":{"m":1}}}`, `unexpected argument: n.n.m`},
		{object(`"n":{"$ref":"#/properties/m"},"m":{"type":"integer"}`, `,"$id":"https://example.com/x"`), `{"n":"1"}`, `invalid value for n: expected integer, got string`},
	} {
		err := mustInput(t, c.schema).Check(t.Context(), []byte(c.args))
		got := ""
		if err != nil {
			var v *Violation
			if got = err.Error(); !errors.As(err, &v) {
				t.Errorf("%s: %T", c.schema, err)
			}
		}
		assert.Equalf(t, got, c.want, "%s\n with %s\n", c.schema, c.args)
	}
}

func TestCheckResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, result, want string }{
		{`{"type":"string"}`, `1`, `result must be a string, got integer`},
		{`{"type":["integer","null"]}`, `""`, `result must be an integer or null, got string`},
		{`{"items":{"properties":{"a":{"type":"null"}}}}`, `[{},{"a":1}]`, `invalid value for [1].a: expected null, got integer`},
		{`{"required":["a"],"additionalProperties":false}`, `{"b":1}`, `missing required property: a; unexpected property: b`},
		{`{"minItems":1}`, `[]`, `invalid result: has too few items: 0, at least 1`},
		{`{"type":"object"}`, ``, ``},
		{`true`, `[1]`, ``},
		{``, `[1]`, ``},
		{`false`, `1`, `invalid result: nothing is allowed here`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"minimum":1}}}`, `0`, `invalid result: 0 is too small, at least 1`},
	} {
		got := ""
		if err := mustOutput(t, c.schema).Check(t.Context(), []byte(c.result)); err != nil {
			got = err.Error()
		}
		assert.Equalf(t, got, c.want, "%s\n with %s\n", c.schema, c.result)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: `{"type":"object","properties":{},"additionalProperties":false}`,
		` {"type": "object", "$id": "https://example.com/x", "x-note": 1}`: ` {"type": "object", "$id": "https://example.com/x", "x-note": 1}`,
	} {
		raw := []byte(in)
		s := mustInput(t, in)
		clear(raw)
		clear(s.Text())
		assert.Equalf(t, string(s.Text()), want, "%q", in)
	}
	assert.Equalf(t, string(mustOutput(t, ``).Text()), `true`, "an empty output schema")
}

// TestCheckIsDeterministic checks that the text of a violation is the same in
// every call, although v5 finds problems in the random order of Go's maps.
func TestCheckIsDeterministic(t *testing.T) {
	t.Parallel()
	var properties, args []string
	for i := range 200 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		args = append(args, fmt.Sprintf(`"p%d":%d`, i, i))
	}
	s := mustInput(t, object(strings.Join(properties, ","), ``))
	raw := []byte("{" + strings.Join(args, ",") + "}")
	first := s.Check(t.Context(), raw)
	var v *Violation
	if !errors.As(first, &v) || len(v.Problems) != maxProblems || !strings.HasSuffix(v.Error(), "; and 195 more") {
		t.Fatalf("%v", first)
	}
	for range 20 {
		if again := s.Check(t.Context(), raw); again.Error() != first.Error() {
			t.Fatalf("%v\nthen %v", first, again)
		}
	}
}

func TestCheckConcurrently(t *testing.T) {
	t.Parallel()
	s := mustInput(t, object(`"a":{"pattern":"^x"},"b":{"uniqueItems":true,"oneOf":[{"minItems":2},{"maxItems":0}]}`, `,"required":["a"]`))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				assert.NoError(t, s.Check(t.Context(), []byte(`{"a":"x","b":[1,2]}`)))
				if err := s.Check(t.Context(), []byte(`{"a":"y","b":[1,1]}`)); err == nil {
					t.Error("taken")
				}
			}
		})
	}
	wg.Wait()
}

// TestProblemsAreShort checks that a long name or value does not make the text
// long.
func TestProblemsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 100)
	s := mustInput(t, object(`"a":{"$ref":"#/$defs/deep"}`, `,"$defs":{"deep":{"additionalProperties":{"$ref":"#/$defs/deep"},"type":"object"}}`))
	args := strings.Repeat(`{"`+long+`":`, 30) + `"` + long + `"` + strings.Repeat("}", 30)
	err := s.Check(t.Context(), []byte(`{"a":`+args+`}`))
	if err == nil || len(err.Error()) > maxProblemLength || !strings.HasSuffix(err.Error(), `: expected object, got string`) {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}
