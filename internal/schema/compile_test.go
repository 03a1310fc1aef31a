package schema

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// TestCompileLoadsNothing checks that v5 loads nothing, whatever the builder lets
// through.
func TestCompileLoadsNothing(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"file:///etc/passwd", "https://example.com/schema", "http://json-schema.org/nothing", "other.json", "/etc/passwd",
	} {
		_, err := compileV5(map[string]any{"$ref": url})
		assert.ErrorContainsf(t, err, "is not loaded", "%s", url)
	}
}

// TestPanicsAreErrors checks that a panic of v5 becomes an error.
func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	_, err := compileV5(map[string]any{"regexProperties": 1})
	assert.ErrorContainsf(t, err, "the validator failed", "compiling")
	s := mustInput(t, object(`"a":{"type":"null"}`, ``))
	s.v5 = nil // which panics
	const want = "the arguments could not be checked: the validator failed"
	if err := s.Check(t.Context(), []byte(`{"a":1}`)); err == nil || err.Error() != want {
		t.Errorf("checking: %v", err)
	}
}

// Most schemas are compiled by v5 when a value is refused, and not before.
func TestCompilesLater(t *testing.T) { //nolint:paralleltest // others' allocations would count
	for _, c := range []struct {
		text  string
		later bool
	}{
		{benchSchema, true},
		{object(`"a":{"$ref":"#/$defs/b"},"l":{"type":"array","uniqueItems":true,"items":{"not":{"enum":[]}}}`, `,"$defs":{"b":{"pattern":"^a"}}`), true},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema",` + benchSchema[1:], true},
		{`{"$schema":"http://json-schema.org/draft-07/schema#",` + benchSchema[1:], false},
		{object(`"a":{"contains":{"const":1}}`, ``), false},
		{object(`"a":{"pattern":"`+strings.Repeat(`\\pL`, 10)+`"}`, ``), false},
		{object(`"a":{"anyOf":[`+strings.Repeat(`{},`, maxLater)+`{}]}`, ``), false},
	} {
		s := mustInput(t, c.text)
		assert.Equalf(t, s.compiles, c.later, "%.80s: compiled later", c.text)
		if _, err := s.v5(); err != nil {
			t.Errorf("%.80s: %v", c.text, err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { mustInput(t, benchSchema) }); n > 300 {
		t.Errorf("%v allocations for a schema, want at most 300: v5 takes a thousand", n)
	}
}
