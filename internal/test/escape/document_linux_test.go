package escape_test

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/escape"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	if os.Getenv(builtVariable) != "" {
		t.Skip("this binary runs elsewhere")
	}
	have, err := os.ReadFile("../../../docs/sandbox.md")
	if err != nil || string(have) != escape.Document() {
		t.Errorf("docs/sandbox.md is not what the table gives; run make generate (%v)", err)
	}
}

// An exception opens all of its attempts for all of its profiles, or closes them.
func TestExceptions(t *testing.T) {
	t.Parallel()
	opens := map[escape.Exception]bool{}
	for _, a := range escape.Attempts() {
		for _, e := range a.But {
			had := a.Done & e.Under
			before, known := opens[e]
			if opens[e] = had == 0; had != 0 && had != e.Under || known && before != opens[e] {
				t.Errorf("%s: %q opens some and closes some", a.Name, e.Why)
			}
		}
	}
}
