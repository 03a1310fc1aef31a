package schema

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// TestPatternsThatAreNotJudged checks that a pattern which only a backtracking engine could
// judge is reported, and that no value is refused because of it.
func TestPatternsThatAreNotJudged(t *testing.T) {
	t.Parallel()
	const look = `{"type":"string","pattern":"^(?=a)","maxLength":3}`
	for _, c := range []struct {
		schema    string
		good, bad []string
	}{
		{look, []string{`"abc"`, `"b"`}, []string{`1`, `"abcd"`}},
		{`{"pattern":"(?<=a)b"}`, []string{`"b"`}, nil},
		{`{"pattern":"^(.)\\1$"}`, []string{`"ab"`}, nil},
		{`{"pattern":"\\p{Emoji}"}`, []string{`"ab"`}, nil},
		{`{"not":` + look + `,"maxLength":4}`, []string{`"abc"`, `"x"`}, []string{`"abcde"`}},
		{`{"not":{"not":` + look + `}}`, []string{`"abc"`, `1`}, nil},
		{`{"if":` + look + `,"then":false,"else":{"type":"integer"}}`, []string{`"abc"`, `1`, `true`}, nil},
		{`{"oneOf":[` + look + `,{"type":"string"},{"type":"null"}]}`, []string{`"abc"`, `null`}, []string{`1`}},
		{`{"oneOf":[{"$ref":"#/$defs/a"},{"type":"string"}],"allOf":[{"maxLength":2}],"$defs":{"a":` + look + `}}`, []string{`"ab"`}, []string{`"abc"`, `1`}},
		{`{"contains":` + look + `,"maxContains":1}`, []string{`["a","b"]`}, []string{`[1]`}},
		{`{"propertyNames":` + look + `}`, []string{`{"b":1}`}, []string{`{"long":1}`}},
		{`{"patternProperties":{"^(?!x)":{"type":"string"}},"properties":{"n":{"type":"integer"}},"additionalProperties":false}`, []string{`{"a":1,"n":1}`}, []string{`{"n":"1"}`}},
		{`{"patternProperties":{"^(?!x)":{}},"unevaluatedProperties":false}`, []string{`{"a":1}`}, []string{}},
	} {
		s := mustOutput(t, c.schema)
		if len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0], "is not checked, because of") {
			t.Errorf("%s: the warnings are %q", c.schema, s.Warnings())
		}
		for _, v := range c.good {
			if err := s.Check(t.Context(), []byte(v)); err != nil {
				t.Errorf("%s refuses %s: %v", c.schema, v, err)
			}
		}
		for _, v := range c.bad {
			if s.Check(t.Context(), []byte(v)) == nil {
				t.Errorf("%s accepts %s", c.schema, v)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	s := mustInput(t, object(`"a":{"pattern":"^(?=.{1,3}$)"},"b":{"patternProperties":{"(?!x)":{}}}`, ``))
	want := []string{
		`at #/properties/a: the pattern "^(?=.{1,3}$)" is not checked, because of: "(?="`,
		`at #/properties/b: the pattern "(?!x)" is not checked, because of: "(?!"`,
	}
	assert.EqualSlices(t, s.Warnings(), want)
	many := mustOutput(t, `{"anyOf":[`+each(100, `{"pattern":"(?=@)"}`)+`]}`)
	if n := len(many.Warnings()); n != maxWarnings {
		t.Errorf("%d warnings", n)
	}
}

func TestURITemplate(t *testing.T) {
	t.Parallel()
	s := mustOutput(t, `{"format":"uri-template"}`)
	for _, good := range []string{
		``, `http://example.com/a/{b}`, `{/var}`, `{?var}`, `{?a,b*,c:3}`, `{#var}`, `{&x.y_z}`, `{+path}/here`, `{v:1000}`, `%20{%41b}`, `ü{.x}`, `it's`,
	} {
		if err := s.Check(t.Context(), []byte(`"`+good+`"`)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		`{`, `}`, `{}`, `{a`, `a}`, `{a b}`, `{?}`, `{a,}`, `{v:0}`, `{v:10000}`, `{a..b}`, `{.}`, `a b`, `<a>`, `%2`, `{%zz}`, `{a**}`, `a\n`, strings.Repeat("a", maxTemplate+1),
	} {
		if s.Check(t.Context(), []byte(`"`+bad+`"`)) == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
}
