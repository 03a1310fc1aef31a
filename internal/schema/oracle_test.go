package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// oracle is an independent validator. It validates a value, or reports that it
// cannot: it does not support the draft, or does not accept the schema.
type oracle func(draft, schema, value string) (fits, tells bool)

// newOracles returns validators that are there until the test ends.
func newOracles(t testing.TB) map[string]oracle {
	t.Helper()
	ask := newV6(t)
	return map[string]oracle{
		"jsonschema-go": byGoogle,
		"jsonschema/v6": func(_, schema, value string) (fits, tells bool) {
			verdict := ask(schema, value)
			if verdict == "panic" {
				t.Errorf("v6 panics on\n%s\nwith %s", schema, value)
			}
			return verdict == "fits", verdict != "untold"
		},
	}
}

// newV6 starts jsonschema/v6, and returns what asks it for a verdict: fits, not, untold or panic.
func newV6(t testing.TB) func(schema, value string) string {
	t.Helper()
	in, out := binaries.Others(t, "jsonschema")
	var mu sync.Mutex
	return func(schema, value string) string {
		mu.Lock()
		defer mu.Unlock()
		require.NoError(t, json.NewEncoder(in).Encode(map[string]string{"schema": schema, "value": value}))
		verdict := require.Must(out.ReadString('\n'))(t)
		return strings.TrimSpace(verdict)
	}
}

func byGoogle(draft, schema, value string) (fits, tells bool) {
	if draft != "2020-12" && draft != "draft-07" {
		return false, false
	}
	var s google.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		return false, false
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return false, false
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return false, false
	}
	return r.Validate(v) == nil, true
}

// difference is a known disagreement with an oracle, and the reason not to
// follow the oracle. Concerns reports whether a schema and a value may be
// affected.
type difference struct {
	oracle, why string
	concerns    func(draft, schema, value string) bool
	// An example, with our verdict in fits; the oracle disagrees.
	draft, schema, value string
	fits                 bool
}

func mentions(keywords ...string) func(draft, schema, value string) bool {
	return func(_, schema, _ string) bool {
		return slices.ContainsFunc(keywords, func(s string) bool { return strings.Contains(schema, `"`+s+`"`) })
	}
}

var differences = []difference{
	{
		oracle: "jsonschema/v6", why: "it judges const next to $ref, although draft-07 ignores keywords next to $ref",
		concerns: func(draft, schema, value string) bool {
			return draft == "draft-07" && mentions("$ref")(draft, schema, value) && mentions("const")(draft, schema, value)
		},
		draft: "draft-07", schema: `{"$ref":"#/definitions/x","const":"a","definitions":{"x":true}}`, value: `"b"`, fits: true,
	},
	{
		oracle: "jsonschema-go", why: "it reads numbers as float64, and rounds them",
		concerns: func(_, schema, value string) bool { return digits(schema) > 15 || digits(value) > 15 },
		draft:    "2020-12", schema: `{"const":9007199254740992}`, value: `9007199254740993`, fits: false,
	},
	{
		oracle: "jsonschema-go", why: "format is an annotation there, and asserted here",
		concerns: mentions("format"),
		draft:    "2020-12", schema: `{"format":"date"}`, value: `"x"`, fits: false,
	},
	{
		oracle: "jsonschema-go", why: "dependencies is left to the validator since 2019-09, and not judged there",
		concerns: func(draft, schema, value string) bool {
			return draft == "2020-12" && mentions("dependencies")(draft, schema, value)
		},
		draft: "2020-12", schema: `{"dependencies":{"a":["b"]}}`, value: `{"a":1}`, fits: false,
	},
	{
		oracle: "jsonschema-go", why: "it judges keywords of later drafts in draft-07, where they mean nothing",
		concerns: func(draft, schema, value string) bool {
			later := mentions("unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains", "dependentRequired", "dependentSchemas", "prefixItems")
			return draft == "draft-07" && later(draft, schema, value)
		},
		draft: "draft-07", schema: `{"unevaluatedProperties":false}`, value: `{"a":1}`, fits: true,
	},
}

// digits returns the length of the longest run of digits.
func digits(s string) (longest int) {
	run := 0
	for _, c := range s {
		if run++; c < '0' || c > '9' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// disagreement returns an error that names the oracle that disagrees for no
// known reason, if any.
func disagreement(oracles map[string]oracle, draft, schema, value string, fits bool) error {
	for name, judge := range oracles {
		if theirs, tells := judge(draft, schema, value); !tells || theirs == fits {
			continue
		}
		known := func(d difference) bool { return d.oracle == name && d.concerns(draft, schema, value) }
		if !slices.ContainsFunc(differences, known) {
			return fmt.Errorf("%s\nwith %s\nfits: %v, and %s says %v", schema, value, fits, name, !fits)
		}
	}
	return nil
}

// TestKnownDifferences checks that each known difference still exists.
func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	oracles := newOracles(t)
	for _, d := range differences {
		text := ofDraft(d.schema, factDrafts[d.draft])
		if !d.concerns(d.draft, text, d.value) {
			t.Errorf("%s (%s): the example is not concerned", d.oracle, d.why)
		}
		if err := mustOutput(t, text).Check(t.Context(), []byte(d.value)); (err == nil) != d.fits {
			t.Errorf("%s (%s): we say %v", d.oracle, d.why, err)
		}
		if theirs, tells := oracles[d.oracle](d.draft, text, d.value); !tells || theirs == d.fits {
			t.Errorf("%s no more differs (%s): take the difference off the list", d.oracle, d.why)
		}
	}
}

// TestHugeExponentPanicsV6 checks that a number with a huge exponent is refused
// before any validator sees it: v6 panics on it.
func TestHugeExponentPanicsV6(t *testing.T) {
	t.Parallel()
	const number = `1234567e901234567891`
	if err := mustOutput(t, `{"minimum":1}`).Check(t.Context(), []byte(number)); err == nil {
		t.Error("taken")
	}
	if verdict := newV6(t)(`{"minimum":1}`, number); verdict != "panic" {
		t.Errorf("v6 says %s, and does not panic any more: this reading is not what keeps it from that", verdict)
	}
}

// TestOraclesKnowTheFacts checks that the oracles agree with the facts, so that
// comparing with them in a fuzz test is worthwhile.
func TestOraclesKnowTheFacts(t *testing.T) {
	t.Parallel()
	oracles := newOracles(t)
	told := map[string]int{}
	for _, f := range readFacts(t) {
		if f.refused != "" || f.about == "format" {
			continue
		}
		for fits, values := range map[bool][]string{true: f.fits, false: f.not} {
			for _, v := range values {
				if err := disagreement(oracles, f.draft, f.schema, v, fits); err != nil {
					t.Errorf("line %d, %s: %v", f.line, f.about, err)
				}
				for name, judge := range oracles {
					if _, tells := judge(f.draft, f.schema, v); tells {
						told[name]++
					}
				}
			}
		}
	}
	if told["jsonschema/v6"] < 800 || told["jsonschema-go"] < 500 {
		t.Errorf("they told only %v", told)
	}
}

// FuzzOracles generates related schemas and values from the fuzzer's input, and
// compares verdicts with validators that share no code with this one. It
// includes the verdicts of the text judge, which decides nearly all real calls.
func FuzzOracles(f *testing.F) {
	for seed := range uint64(60) {
		text := make([]byte, 256)
		d := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // not a secret
		for i := range text {
			text[i] = byte(d.Uint32())
		}
		f.Add(text)
	}
	oracles := newOracles(f)
	drafts := []string{"2020-12", "2020-12", "2019-09", "draft-07"}
	f.Fuzz(func(t *testing.T, choices []byte) {
		d := dice{rand.New(&chosen{choices, rand.NewPCG(uint64(len(choices)), 3)})} //nolint:gosec // not a secret
		draft := pick(d, drafts...)
		defs := "$defs"
		root := map[string]any{defs: map[string]any{"x": d.schema(1), "y": d.schema(0)}}
		for range 1 + d.IntN(3) {
			d.keyword(root, 2)
		}
		body := require.Must(json.Marshal(root))(t)
		text := ofDraft(string(body), factDrafts[draft])
		s, err := CompileOutput(json.RawMessage(text))
		if err != nil {
			return
		}
		for range 6 {
			value := require.Must(json.Marshal(d.value(3)))(t)
			fits := s.Check(t.Context(), value) == nil
			if s.fits(string(value)) && !fits {
				t.Fatalf("%s\nwith %s\nfits as text, and not", text, value)
			}
			require.NoError(t, disagreement(oracles, draft, text, string(value), fits))
		}
	})
}

// chosen is a source of random numbers that returns the chosen bytes first, and
// then those of another source.
type chosen struct {
	bytes []byte
	then  rand.Source
}

// Uint64 implements [rand.Source]. It repeats a choice in each byte, as callers
// may use any of them.
func (c *chosen) Uint64() uint64 {
	if len(c.bytes) == 0 {
		return c.then.Uint64()
	}
	b := uint64(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b * 0x0101010101010101
}
