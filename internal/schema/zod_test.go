package schema

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// TestZod checks that the schemas that an honest generator makes are accepted, and judge
// values as the generator does. testdata/zod.mjs made them.
func TestZod(t *testing.T) {
	t.Parallel()
	text := require.Must(os.ReadFile("testdata/zod.json"))(t)
	var corpus []struct {
		Name      string
		Schema    json.RawMessage
		Good, Bad []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &corpus))
	refused := 0
	for _, c := range corpus {
		s, err := CompileInput(c.Schema)
		if err != nil {
			refused++
			t.Errorf("%s is refused: %v\n%s", c.Name, err, c.Schema)
			continue
		}
		for _, v := range c.Good {
			if err := s.Check(t.Context(), v); err != nil {
				t.Errorf("%s refuses %s: %v\n%s", c.Name, v, err, c.Schema)
			}
		}
		for _, v := range c.Bad {
			if err := s.Check(t.Context(), v); err == nil {
				t.Errorf("%s accepts %s\n%s", c.Name, v, c.Schema)
			}
		}
	}
	if len(corpus) < 108 {
		t.Errorf("the corpus has only %d schemas", len(corpus))
	}
	t.Logf("%d of %d schemas are refused", refused, len(corpus))
}
