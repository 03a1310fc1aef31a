package schema

import (
	"strings"
	"testing"
)

// TestCompileLoadsNothing checks that v5 loads nothing, whatever the builder lets
// through.
func TestCompileLoadsNothing(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"file:///etc/passwd", "https://example.com/schema", "http://json-schema.org/nothing", "other.json", "/etc/passwd",
	} {
		_, err := compileV5(map[string]any{"$ref": url})
		if err == nil || !strings.Contains(err.Error(), "is not loaded") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestPanicsAreErrors checks that a panic of v5 becomes an error.
func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	_, err := compileV5(map[string]any{"regexProperties": 1})
	if err == nil || !strings.Contains(err.Error(), "the validator failed") {
		t.Errorf("compiling: %v", err)
	}
	s := mustInput(t, object(`"a":{"type":"null"}`, ``))
	s.v5 = nil // which panics
	const want = "the arguments could not be checked: the validator failed"
	if err := s.Check(t.Context(), []byte(`{"a":1}`)); err == nil || err.Error() != want {
		t.Errorf("checking: %v", err)
	}
}
