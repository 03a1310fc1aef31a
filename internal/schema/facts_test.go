package schema

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
)

//go:embed testdata/facts.txt
var factsText string

// fact is a schema and the verdict of JSON Schema on some values.
type fact struct {
	line    int
	draft   string
	about   string
	schema  string // including its draft
	fits    []string
	not     []string
	refused string // "": this package accepts the schema
}

var factDrafts = map[string]string{
	"2020-12": "https://json-schema.org/draft/2020-12/schema", "2019-09": "https://json-schema.org/draft/2019-09/schema",
	"draft-07": "http://json-schema.org/draft-07/schema#", "draft-06": "http://json-schema.org/draft-06/schema#",
	"draft-04": "http://json-schema.org/draft-04/schema#",
}

// readFacts reads testdata/facts.txt.
func readFacts(t testing.TB) []fact {
	t.Helper()
	var all []fact
	var draft, about string
	for i, line := range strings.Split(factsText, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		values := strings.Split(rest, " | ")
		last := len(all) - 1
		switch kind {
		case "", "#":
		case "@":
			if draft = rest; factDrafts[draft] == "" {
				t.Fatalf("line %d: no such draft", i+1)
			}
		case "=":
			about = rest
		case "+":
			all[last].fits = append(all[last].fits, values...)
		case "-":
			all[last].not = append(all[last].not, values...)
		case "!":
			all[last].refused = rest
		default:
			all = append(all, fact{line: i + 1, draft: draft, about: about, schema: ofDraft(line, factDrafts[draft])})
		}
	}
	return all
}

// ofDraft returns schema with the given draft as its $schema.
func ofDraft(schema, draft string) string {
	members, ok := strings.CutPrefix(schema, "{")
	switch {
	case !ok:
		return schema
	case members == "}":
		return `{"$schema":"` + draft + `"}`
	}
	return `{"$schema":"` + draft + `",` + members
}

// TestFacts checks that this package agrees with JSON Schema, on a value and on
// the same value as an argument.
func TestFacts(t *testing.T) {
	t.Parallel()
	facts := readFacts(t)
	judged := 0
	for _, f := range facts {
		s, err := CompileOutput(json.RawMessage(f.schema))
		if f.refused != "" {
			if err == nil || !strings.Contains(err.Error(), f.refused) {
				t.Errorf("line %d, %s: %v, want it refused: %s", f.line, f.about, err, f.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("line %d, %s: %v", f.line, f.about, err)
			continue
		}
		if len(f.fits)+len(f.not) == 0 {
			t.Errorf("line %d, %s: nothing is said of it", f.line, f.about)
		}
		argument, v5 := asArgument(t, f), asWritten(s)
		for want, values := range map[bool][]string{true: f.fits, false: f.not} {
			for _, v := range values {
				judged++
				if err := s.Check(t.Context(), []byte(v)); (err == nil) != want {
					t.Errorf("line %d, %s: %s of %s: %v, want %v", f.line, f.about, v, f.schema, err, want)
				}
				compareWithV5(t, s, v5, v)
				if argument == nil {
					continue
				}
				if err := argument.Check(t.Context(), []byte(`{"v":`+v+`}`)); (err == nil) != want {
					t.Errorf("line %d, %s: the argument %s of %s: %v, want %v", f.line, f.about, v, f.schema, err, want)
				}
			}
		}
	}
	if len(facts) < 250 || judged < 900 {
		t.Errorf("only %d schemas and %d values", len(facts), judged)
	}
}

// asArgument returns the input schema of a tool with one argument of the fact's
// schema, or nil if its references would not resolve there.
func asArgument(t *testing.T, f fact) *Schema {
	t.Helper()
	if strings.Contains(f.schema, `"$ref":"#`) || strings.Contains(f.schema, `"$id"`) {
		return nil
	}
	return mustInput(t, ofDraft(`{"type":"object","properties":{"v":`+f.schema+`}}`, factDrafts[f.draft]))
}
