package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// FuzzCheck searches for a schema and a value for which the verdict differs
// from v5's on the original schema, the text judge accepts a value that does
// not match, or a message of v5 is passed on.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{``, `{"a":1}`},
		{benchSchema, `{"path":"x","limit":1}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"],"minLength":2},"b":{"enum":[1,"x",null]}},"required":["a"]}`, `{"a":"é","b":1.0}`},
		{`{"type":"object","properties":{"l":{"$ref":"#"},"r":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"additionalProperties":false}`, `{"l":{"r":{"x":1}}}`},
		{`{"type":"object","patternProperties":{"^a":{"items":{"const":2}}},"propertyNames":{"maxLength":3},"unevaluatedProperties":{"not":{}}}`, `{"abc":[2,3],"":1,"long":1}`},
		{`{"type":"object","oneOf":[{"required":["a"]},{"properties":{"b":{"uniqueItems":true,"contains":{"minimum":2.5}}}}]}`, `{"a":1,"b":[1,1.0,3]}`},
		{`{"type":"object","if":{"required":["a"]},"then":{"minProperties":2},"else":{"dependentRequired":{"b":["c"]}}}`, `{"b":1}`},
		{`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"integer"}},"properties":{"x":{"$ref":"#/definitions/a","minimum":5},"y":{"items":[{}],"additionalItems":false}}}`, `{"x":1,"y":[1,2]}`},
		{`{"type":"object","$schema":"http://json-schema.org/draft-04/schema#","properties":{"x":{"minimum":1,"exclusiveMinimum":true}}}`, `{"x":1}`},
		{`{"type":"object","properties":{"a":{"prefixItems":[{"multipleOf":2}],"items":{"allOf":[{"maximum":3},{"exclusiveMinimum":-1}]},"maxItems":2}}}`, `{"a":[3,4,5]}`},
		{`{"type":"object","properties":{"a~/%":{"format":"date"}},"allOf":[false]}`, `{"a~/%":"x"}`},
		{`{"type":"object","properties":{"m":{"anyOf":[{"$ref":"#/$defs/m"},{"type":"null"}]},"l":{"type":"array","items":{"enum":["a",1,null]},"maxItems":3}},"required":["m"],"$defs":{"m":{"type":"object","properties":{"t":{"type":"string","pattern":"^a"}}}}}`, `{"m":{"t":"\u0061\n"},"l":["a",1.0,null]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := CompileInput(json.RawMessage(text))
		if err != nil {
			if s, err = CompileOutput(json.RawMessage(text)); err != nil {
				return
			}
		}
		compareWithV5(t, s, asWritten(s), value)
	})
}

// compareWithV5 compares the verdicts of s and of v5 alone on a value.
func compareWithV5(t *testing.T, s *Schema, v5 func() *jsonschema.Schema, value string) {
	t.Helper()
	if _, err := s.v5(); err != nil {
		t.Fatalf("%s\nis taken for one that v5 compiles: %v", s.Text(), err)
	}
	err := s.Check(t.Context(), []byte(value))
	var limit *LimitError
	if errors.As(err, &limit) {
		return
	}
	if err != nil {
		var violation *Violation
		if !errors.As(err, &violation) || len(violation.Problems) == 0 || len(violation.Problems) > maxProblems {
			t.Fatalf("%T: %v", err, err)
		}
		for _, p := range violation.Problems {
			if p == "" || strings.Contains(p, base) || strings.Contains(p, "breaks the rule $") ||
				strings.ContainsAny(p, "\n\r") {
				t.Fatalf("%s\nwith %s\n%q", s.Text(), value, p)
			}
		}
	}
	if value == "" {
		value = "{}"
	}
	v, fault := parse([]byte(value), maxValueLevels, nil)
	if s.fits(value) && fault != nil {
		t.Fatalf("%s\nwith %s\nfits as text, and is malformed: %v", s.Text(), value, fault)
	}
	if fault != nil {
		return
	}
	if v5() == nil || s.role == input && !is[map[string]any](v) {
		return
	}
	want := v5().Validate(v) == nil
	if (err == nil) != want {
		t.Fatalf("%s\nwith %s\nis %v, v5 says %v", s.Text(), value, err, want)
	}
	if s.fits(value) && !want {
		t.Fatalf("%s\nwith %s\nfits as text, which v5 denies", s.Text(), value)
	}
}

// asWritten returns a function that has v5 compile the original schema instead of the copy, once.
// It returns nil if v5 knows more keywords, or takes an empty enum for none.
func asWritten(s *Schema) func() *jsonschema.Schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		text := string(s.Text())
		if strings.Contains(text, "content") || strings.Contains(text, "regexProperties") || strings.Contains(text, `"enum":[]`) || strings.Contains(text, `\`) {
			return nil
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat = true
		c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("refused") }
		if err := c.AddResource(base, bytes.NewReader(s.raw)); err != nil {
			return nil
		}
		v5, err := c.Compile(base)
		if err != nil {
			return nil
		}
		return v5
	})
}
