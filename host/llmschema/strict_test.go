package llmschema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Shapes that public MCP servers have, and what becomes of them.
func TestStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, want, lost, unstrict string }{
		"filesystem: read_text_file": {
			schema: `{"type":"object","properties":{"path":{"type":"string"},"tail":{"type":"number","description":"last lines"}},
				"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
			want: `{"type":"object","properties":{"path":{"type":"string"},"tail":{"type":["number","null"],"description":"last lines"}},` +
				`"required":["path","tail"],"additionalProperties":false}`,
		},
		"filesystem: edit_file": {
			schema: `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"}},
				"required":["oldText"],"additionalProperties":false}},"dryRun":{"type":"boolean","default":false}},"required":["edits"],"additionalProperties":false}`,
			want: `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"}},` +
				`"required":["oldText"],"additionalProperties":false}},"dryRun":{"type":["boolean","null"]}},"required":["edits","dryRun"],"additionalProperties":false}`,
			lost: "default",
		},
		"github: list_issues": {
			schema: `{"type":"object","properties":{"state":{"type":"string","enum":["OPEN","CLOSED"]},"perPage":{"type":"number","minimum":1,"maximum":100},
				"labels":{"type":"array","items":{"type":"string"}}}}`,
			want: `{"type":"object","properties":{"state":{"type":["string","null"],"enum":["OPEN","CLOSED",null]},` +
				`"perPage":{"type":["number","null"],"minimum":1,"maximum":100},"labels":{"type":["array","null"],"items":{"type":"string"}}},` +
				`"additionalProperties":false,"required":["state","perPage","labels"]}`,
			lost: "that other names than the given ones are taken",
		},
		"no arguments": {
			schema: `{"type":"object","properties":{},"additionalProperties":false}`,
			want:   `{"type":"object","properties":{},"additionalProperties":false,"required":[]}`,
		},
		"pydantic: optional, const, allOf of one": {
			schema: `{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
				"k":{"const":"x"},"r":{"allOf":[{"$ref":"#/$defs/R"}],"description":"d"}},"required":["k"],
				"$defs":{"R":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","exclusiveMinimum":0}}}}}`,
			want: `{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
				`"k":{"enum":["x"],"type":"string"},"r":{"anyOf":[{"$ref":"#/$defs/R"},{"type":"null"}],"description":"d"}},"required":["a","k","r"],` +
				`"$defs":{"R":{"type":"object","additionalProperties":false,"properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0}},"required":["n"]}}}`,
			lost: "default",
		},
		"zod: oneOf, lengths, formats": {
			schema: `{"type":"object","additionalProperties":false,"properties":{"u":{"oneOf":[{"type":"string","minLength":1,"format":"uri"},{"type":"integer"}]}},"required":["u"]}`,
			want:   `{"type":"object","additionalProperties":false,"properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["u"]}`,
			lost:   "minLength; the format uri",
		},
		"any object":   {schema: `{"type":"object","properties":{"o":{"type":"object"}}}`, unstrict: "an object takes any names"},
		"a map":        {schema: `{"type":"object","properties":{"o":{"type":"object","additionalProperties":{"type":"string"}}}}`, unstrict: "an object takes any names"},
		"any value":    {schema: `{"type":"object","properties":{"v":{}}}`, unstrict: "a part of it takes any value"},
		"true":         {schema: `{"type":"object","properties":{"v":true}}`, unstrict: `the argument "v" takes any value`},
		"any items":    {schema: `{"type":"object","properties":{"v":{"type":"array"}}}`, unstrict: "a part of it takes any value"},
		"a condition":  {schema: `{"type":"object","properties":{"v":{"type":"string","not":{"const":"x"}}}}`, unstrict: "it uses not"},
		"name pattern": {schema: `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x":{"type":"string"}}}}}`, unstrict: "it uses patternProperties"},
		"too deep": {
			schema:   `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 10) + `{"type":"string"}` + strings.Repeat(`}`, 10) + `}}`,
			unstrict: "it has 12 levels, more than 10",
		},
	} {
		for _, f := range []Format{OpenAI, OpenAIResponses} {
			d := tool.Definition{Name: "t", Alias: "t", Description: "d", InputSchema: []byte(c.schema)}
			offer := require.Must(Export(f, []tool.Definition{d}, Strict()))(t)
			var shown []struct {
				Parameters json.RawMessage
				Strict     bool
				Function   struct {
					Parameters json.RawMessage
					Strict     bool
				}
			}
			if err := json.Unmarshal(offer.Tools, &shown); err != nil || len(shown) != 1 {
				t.Fatalf("%s: %s, %v", name, offer.Tools, err)
			}
			got, is := shown[0].Parameters, shown[0].Strict
			if f == OpenAI {
				got, is = shown[0].Function.Parameters, shown[0].Function.Strict
			}
			var note Note
			if len(offer.Notes) > 0 {
				note = offer.Notes[0]
			}
			if note.Unstrict != c.unstrict || is != (c.unstrict == "") || strings.Join(note.Lost, "; ") != c.lost {
				t.Errorf("%s: strict %v, %+v", name, is, note)
			}
			parsed, err := jsontree.ParseObject(got)
			if err != nil || c.want != "" && string(jsontree.Encode(parsed)) != c.want {
				t.Errorf("%s: got\n%s, want\n%s", name, jsontree.Encode(parsed), c.want)
			}
			if c.unstrict != "" { // as without the option
				plain, err := Export(f, []tool.Definition{d})
				if err != nil || string(plain.Tools) != string(offer.Tools) {
					t.Errorf("%s: got %s, want %s", name, offer.Tools, plain.Tools)
				}
			}
		}
	}
}

// What is null only because the export requires it is absent for the tool.
func TestStrictArguments(t *testing.T) {
	t.Parallel()
	d := tool.Definition{Name: "t", Alias: "t", Description: "d", InputSchema: []byte(`{"type":"object","properties":{
		"a":{"type":"string"},"own":{"type":["string","null"]},"must":{"type":["string","null"]},
		"list":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}},"tree":{"$ref":"#/$defs/T"}},"required":["must"],
		"$defs":{"T":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/T"}}}}}`)}
	offer, err := Export(OpenAI, []tool.Definition{d}, Strict())
	if err != nil || offer.Notes[0].Unstrict != "" {
		t.Fatalf("%+v, %v", offer, err)
	}
	for in, want := range map[string]string{
		`{"a":null,"own":null,"must":null,"list":null,"tree":null}`: `{"own":null,"must":null}`,
		`{"a":"x","own":"","must":"","list":[{"b":null},{"b":"y"}],"tree":{"v":null,"next":{"v":9007199254740993,"next":null}}}`: `{"a":"x","own":"",` +
			`"must":"","list":[{},{"b":"y"}],"tree":{"next":{"v":9007199254740993}}}`,
		`{"else":null}`: `{"else":null}`, `[null]`: `[null]`, `{`: `{`,
	} {
		assert.Equalf(t, string(offer.Arguments("t", []byte(in))), want, "%s became", in)
	}
}

func TestStrictElsewhere(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{Anthropic, Gemini, MCP} {
		if _, err := Export[tool.Definition](f, nil, Strict()); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%s: %v", f, err)
		}
	}
}
