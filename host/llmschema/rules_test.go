package llmschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// offerOf exports one tool with an input schema.
func offerOf(t *testing.T, f llmschema.Format, input string) (*llmschema.Offer, llmschema.Note) {
	t.Helper()
	d := clock()
	d.InputSchema = tool.Schema(input)
	offer := require.Must(llmschema.Export(f, []tool.Definition{d}))(t)
	if len(offer.Notes) == 0 {
		return offer, llmschema.Note{}
	}
	return offer, offer.Notes[0]
}

// inputOf returns the schema of the only tool of an offer; nil: it was left out.
func inputOf(t *testing.T, f llmschema.Format, offer *llmschema.Offer) json.RawMessage {
	t.Helper()
	list := offer.Tools
	if f == llmschema.Gemini {
		var g struct{ FunctionDeclarations json.RawMessage }
		require.NoError(t, json.Unmarshal(list, &g))
		list = g.FunctionDeclarations
	}
	var tools []struct {
		Function             struct{ Parameters json.RawMessage }
		Parameters           json.RawMessage
		InputSchema          json.RawMessage `json:"input_schema"`
		MCP                  json.RawMessage `json:"inputSchema"`
		ParametersJSONSchema json.RawMessage
	}
	require.NoError(t, json.Unmarshal(list, &tools))
	if len(tools) == 0 {
		return nil
	}
	one := tools[0]
	for _, s := range []json.RawMessage{one.Function.Parameters, one.Parameters, one.InputSchema, one.MCP, one.ParametersJSONSchema} {
		if s != nil {
			return s
		}
	}
	return nil
}

var (
	propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	forModels   = []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses, llmschema.Anthropic, llmschema.Gemini}
)

// refusal is what a provider would say of a schema, as far as its documentation and its
// errors tell; "" if it takes it. Next to the tables of package llmschema, this is the other
// source of what providers take.
func refusal(f llmschema.Format, input json.RawMessage) string {
	var root map[string]any
	if err := json.Unmarshal(input, &root); err != nil {
		return err.Error()
	}
	if f != llmschema.MCP && root["$schema"] != nil || root["type"] != "object" {
		return "it is not 2020-12, or not an object"
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s:///s", strings.NewReader(string(input))); err != nil {
		return err.Error()
	}
	if _, err := c.Compile("s:///s"); err != nil && !strings.Contains(err.Error(), "pattern") {
		return err.Error()
	}
	refused := map[llmschema.Format][]string{
		llmschema.Anthropic: {"oneOf", "anyOf", "allOf"}, llmschema.Gemini: {"oneOf", "anyOf", "allOf"},
		llmschema.OpenAI: {"oneOf", "anyOf", "allOf", "enum", "const", "not"},
	}[f]
	for _, name := range refused {
		if root[name] != nil {
			return name + " at the root"
		}
	}
	if f != llmschema.MCP && root["properties"] == nil {
		return "object schema missing properties"
	}
	return subRefusal(f, root)
}

var geminiRefuses = []string{"allOf", "propertyNames", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "not", "if", "patternProperties"}

func subRefusal(f llmschema.Format, v any) string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if text := subRefusal(f, item); text != "" {
				return text
			}
		}
	case map[string]any:
		types := fmt.Sprint(v["type"])
		pattern, _ := v["pattern"].(string)
		enum, _ := v["enum"].([]any)
		switch {
		case (f == llmschema.OpenAI || f == llmschema.OpenAIResponses) && strings.Contains(pattern, "(?!"):
			return "regex lookaround is not supported"
		case f == llmschema.Gemini && slices.ContainsFunc(geminiRefuses, func(k string) bool { return v[k] != nil }):
			return "a keyword that Gemini has not"
		case f == llmschema.Gemini && slices.ContainsFunc(enum, func(v any) bool { _, is := v.(bool); return is || v == nil }):
			return "an enum of other values than strings and numbers"
		case f != llmschema.Anthropic && f != llmschema.MCP && strings.Contains(types, "array") && v["items"] == nil:
			return "array schema missing items"
		case f == llmschema.Gemini && v["const"] != nil:
			return "const"
		case f == llmschema.Gemini && v["$ref"] != nil && len(v) > 1 && v["$defs"] == nil:
			return "$ref with neighbours"
		}
		for name, sub := range v {
			if name == "enum" || name == "const" || name == "default" || name == "examples" {
				continue
			}
			properties, _ := sub.(map[string]any)
			if name == "properties" && f == llmschema.Anthropic {
				for key := range properties {
					if !propertyKey.MatchString(key) {
						return "property key " + key
					}
				}
			}
			subs := []any{sub}
			if name == "properties" || name == "$defs" { // names, and not keywords
				subs = slices.Collect(maps.Values(properties))
			}
			if text := subRefusal(f, subs); text != "" {
				return text
			}
		}
	}
	return ""
}

// TestRules checks what becomes of schemas that providers refuse.
func TestRules(t *testing.T) {
	t.Parallel()
	const draft07, draft04 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"http://json-schema.org/draft-04/schema#"`
	for _, c := range []struct {
		about   string
		formats []llmschema.Format
		in, out string // out: "" for left out
		lost    string
		values  []string // on which both schemas agree, if nothing is lost
	}{
		{
			"allOf", forModels,
			`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"properties":{"b":{"type":"integer"}},"required":["b"]},{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b","a"]}`, "",
			[]string{`{}`, `{"a":"x"}`, `{"b":1}`, `{"a":"x","b":1}`, `{"a":"x","b":"y"}`, `{"a":"x","b":1,"c":1}`},
		},
		{
			"a closed schema in allOf", forModels,
			`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}},"additionalProperties":false}]}`,
			`{"type":"object","properties":{"b":{}},"additionalProperties":false}`, "",
			[]string{`{}`, `{"a":1}`, `{"b":1}`, `{"c":1}`},
		},
		{
			"unevaluatedProperties", forModels,
			`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}}],"unevaluatedProperties":false}`,
			`{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}`, "",
			[]string{`{"a":1,"b":1}`, `{"c":1}`},
		},
		{
			"$ref", forModels,
			`{"type":"object","$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{"type":"string"},"n":{"$ref":"#"}},"required":["a"]}}}`,
			`{"type":"object","$defs":{"x":{"type":"object","properties":{"a":{"type":"string"},"n":{"$ref":"#"}},"required":["a"]}},
			  "properties":{"a":{"type":"string"},"n":{"$ref":"#"}},"required":["a"]}`, "",
			[]string{`{"a":"x"}`, `{}`, `{"a":"x","n":{"a":1}}`, `{"a":"x","n":{"a":"y"}}`},
		},
		{
			"one form", forModels,
			`{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"type":"string"},false]}`,
			`{"type":"object","properties":{"a":{}},"required":["a"]}`, "",
			[]string{`{}`, `{"a":1}`},
		},
		{
			"required alone", forModels,
			`{"type":"object","description":"D.","properties":{"a":{},"b":{},"c":{}},"required":["c"],"anyOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false}`,
			`{"type":"object","description":"D.\nGive the arguments of at least one of these: (a) or (b).","properties":{"a":{},"b":{},"c":{}},"required":["c"],"additionalProperties":false}`,
			"which arguments go together, by anyOf at the root; the description says it", nil,
		},
		{
			"a discriminated union", []llmschema.Format{llmschema.OpenAI, llmschema.Anthropic},
			`{"type":"object","oneOf":[
				{"properties":{"k":{"const":"a"},"n":{"type":"integer"}},"required":["k","n"],"additionalProperties":false},
				{"properties":{"k":{"const":"b"},"s":{"type":"string"}},"required":["k"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"k":{"enum":["a","b"]},"n":{"type":"integer"},"s":{"type":"string"}},"required":["k"],"additionalProperties":false,
				"description":"Give the arguments of exactly one of these: (k = \"a\", n) or (k = \"b\")."}`,
			"which arguments go together, by oneOf at the root", nil,
		},
		{
			"properties of two types", []llmschema.Format{llmschema.Anthropic},
			`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
				"description":"Give the arguments of at least one of these: (none in particular)."}`,
			"which arguments go together", nil,
		},
		{
			"more in a form", []llmschema.Format{llmschema.OpenAI},
			`{"type":"object","allOf":[{"properties":{"a":{}},"patternProperties":{"^x":{}},"minProperties":1}]}`,
			`{"type":"object","properties":{"a":{}}}`, "what patternProperties says in a combined schema; what minProperties says in a combined schema", nil,
		},
		{
			"a reference to a form", forModels,
			`{"type":"object","properties":{"a":{"$ref":"#/anyOf/0"}},"anyOf":[{"properties":{"b":{}}}]}`, ``, "", nil,
		},
		{
			"not at the root", []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses},
			`{"type":"object","properties":{"a":{}},"not":{"required":["a"]},"enum":[{}]}`,
			`{"type":"object","properties":{"a":{}}}`, "what enum says at the root; what not says at the root", nil,
		},
		{
			"not at the root, taken", []llmschema.Format{llmschema.Anthropic},
			`{"type":"object","properties":{"a":{}},"not":{"required":["a"]}}`,
			`{"type":"object","properties":{"a":{}},"not":{"required":["a"]}}`, "", []string{`{}`, `{"a":1}`},
		},
		{
			"no items", []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses, llmschema.Gemini},
			`{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"],"prefixItems":[{"type":"array"}]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":["array","null"],"prefixItems":[{"type":"array","items":{}}],"items":{}}}}`,
			"", []string{`{"a":[1]}`, `{"b":[[1],2]}`, `{"b":[1]}`},
		},
		{
			"no properties", forModels, `{"type":"object"}`, `{"type":"object","properties":{}}`, "", []string{`{}`, `{"a":1}`},
		},
		{
			"names", []llmschema.Format{llmschema.Anthropic},
			`{"type":"object","properties":{"$filter":{"type":"string"},"filter[id]":{"type":"integer"},"_filter":{},"ok.name-1":{},"":{},
				"` + strings.Repeat("l", 65) + `":{},"in":{"items":{"$ref":"#/properties/in/properties/x%20y"},"properties":{"x y":{"type":"string"}},"required":["x y"],"dependentRequired":{"x y":["z z"]}}},
				"required":["$filter"]}`,
			`{"type":"object","properties":{"_filter_2":{"type":"string"},"filter_id_":{"type":"integer"},"_filter":{},"ok.name-1":{},"_":{},
				"` + strings.Repeat("l", 64) + `":{},"in":{"items":{"$ref":"#/properties/in/properties/x_y"},"properties":{"x_y":{"type":"string"}},"required":["x_y"],"dependentRequired":{"x_y":["z_z"]}}},
				"required":["_filter_2"]}`, "", nil,
		},
		{
			"names, where all are taken", []llmschema.Format{llmschema.OpenAI, llmschema.MCP},
			`{"type":"object","properties":{"$filter":{}}}`, `{"type":"object","properties":{"$filter":{}}}`, "", nil,
		},
		{
			"draft-04", []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses, llmschema.Anthropic, llmschema.MCP},
			`{` + draft04 + `,"id":"https://example.com/x","type":"object","properties":{"n":{"minimum":1,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":false},"c":{"const":1}}}`,
			`{"type":"object","properties":{"n":{"exclusiveMinimum":1,"maximum":5},"c":{}}}`, "",
			[]string{`{"n":1}`, `{"n":2}`, `{"n":5}`, `{"n":6}`, `{"c":2}`},
		},
		{
			"draft-07 tuples and definitions", []llmschema.Format{llmschema.Anthropic, llmschema.MCP},
			`{` + draft07 + `,"type":"object","properties":{"t":{"type":"array","items":[{"$ref":"#/definitions/s"},{"type":"integer"}],"additionalItems":{"type":"null"}},
				"u":{"$ref":"#/properties/t/items/1"},"v":{"$ref":"#/properties/t/additionalItems"},"w":{"items":{},"additionalItems":false}},"definitions":{"s":{"type":"string"}}}`,
			`{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"$ref":"#/$defs/s"},{"type":"integer"}],"items":{"type":"null"}},
				"u":{"$ref":"#/properties/t/prefixItems/1"},"v":{"$ref":"#/properties/t/items"},"w":{"items":{}}},"$defs":{"s":{"type":"string"}}}`, "",
			[]string{`{"t":["a",1,null]}`, `{"t":[1]}`, `{"t":["a",1,1]}`, `{"u":"x"}`, `{"v":null}`, `{"v":1}`, `{"w":[1]}`},
		},
		{
			"the neighbours of $ref in draft-07", llmschema.Formats()[:3],
			`{` + draft07 + `,"type":"object","properties":{"p":{"$ref":"#/definitions/s","maxLength":1,"description":"P."},"d":{"if":{"const":1},"then":false}},
				"dependencies":{"a":["b"],"c":{"required":["p"]}},"definitions":{"s":{"type":"string","unevaluatedItems":false}}}`,
			`{"type":"object","properties":{"p":{"$ref":"#/$defs/s","description":"P."},"d":{"if":{"const":1},"then":false}},
				"$defs":{"s":{"type":"string"}},"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["p"]}}}`, "",
			[]string{`{"p":"long"}`, `{"p":1}`, `{"d":1}`, `{"a":1}`, `{"a":1,"b":1}`, `{"c":1}`, `{"c":1,"p":"x"}`},
		},
		{
			"lookaround", []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses},
			`{"type":"object","properties":{"a":{"pattern":"^(?!x)[a-z]+$"},"b":{"pattern":"^\\\\(?=x)"},"c":{"pattern":"^\\(?=x$"},"d":{"patternProperties":{"(?<!x)y":{},"z":{}}}}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{"pattern":"^\\(?=x$"},"d":{"patternProperties":{"z":{}}}}}`,
			"a pattern with lookaround; names of a pattern with lookaround", nil,
		},
		{
			"what Gemini takes at no depth", []llmschema.Format{llmschema.Gemini},
			`{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":9},
				"b":{"description":"B.","allOf":[{"type":"object","properties":{"x":{}},"required":["x"]},{"properties":{"y":{}},"required":["x","y"]}]}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":8},
				"b":{"description":"B.","type":"object","properties":{"x":{},"y":{}},"required":["x","y"]}}}`, "",
			[]string{`{"a":0}`, `{"a":1}`, `{"a":8}`, `{"a":9}`, `{"b":{"x":1}}`, `{"b":{"x":1,"y":1}}`},
		},
		{
			"what Gemini has no word for", []llmschema.Format{llmschema.Gemini},
			`{"type":"object","properties":{"a":{"const":true},"b":{"type":"object","propertyNames":{"pattern":"^x"},"additionalProperties":{"exclusiveMinimum":0,"not":{"const":4}}}}}`,
			`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"object","additionalProperties":{}}}}`,
			"an enum of other values than strings and numbers; exclusiveMinimum; not; propertyNames", nil,
		},
		{
			"constants and references for Gemini", []llmschema.Format{llmschema.Gemini},
			`{"type":"object","properties":{"c":{"const":"x"},"r":{"$ref":"#/$defs/s","description":"R."}},"$defs":{"s":{"type":"string"}}}`,
			`{"type":"object","properties":{"c":{"enum":["x"]},"r":{"anyOf":[{"$ref":"#/$defs/s"}],"description":"R."}},"$defs":{"s":{"type":"string"}}}`, "",
			[]string{`{"c":"x"}`, `{"c":"y"}`, `{"r":"x"}`, `{"r":1}`},
		},
		{
			"texts of errors", forModels,
			`{"type":"object","properties":{"p":{"pattern":"^[^/]","errorMessage":"relative"},"errorMessage":{}}}`,
			`{"type":"object","properties":{"p":{"pattern":"^[^/]"},"errorMessage":{}}}`, "", []string{`{"p":"/"}`},
		},
	} {
		for _, f := range c.formats {
			offer, note := offerOf(t, f, c.in)
			got := inputOf(t, f, offer)
			if c.out == "" {
				if got != nil || note.LeftOut == "" {
					t.Errorf("%s, %s: is not left out: %s", f, c.about, got)
				}
				continue
			}
			if got == nil || !reflect.DeepEqual(parse(t, got), parse(t, []byte(c.out))) {
				t.Errorf("%s, %s: got\n%s\nwant\n%s\n%+v", f, c.about, got, c.out, note)
				continue
			}
			if lost := strings.Join(note.Lost, "; "); !strings.HasPrefix(lost, c.lost) || c.lost == "" && lost != "" {
				t.Errorf("%s, %s: lost %q, want %q", f, c.about, lost, c.lost)
			}
			assert.Equalf(t, refusal(f, got), "", "%s, %s: the provider says", f, c.about)
			sameVerdicts(t, c.in, string(got), c.values)
		}
	}
}

// sameVerdicts checks that two schemas agree on values.
func sameVerdicts(t *testing.T, a, b string, values []string) {
	t.Helper()
	one, err := schema.CompileInput([]byte(a))
	if err != nil {
		t.Fatalf("%v\n%s", err, a)
	}
	two, err := schema.CompileInput([]byte(b))
	if err != nil {
		t.Errorf("%v\n%s", err, b)
		return
	}
	for _, v := range values {
		was, is := one.Check(t.Context(), []byte(v)), two.Check(t.Context(), []byte(v))
		if (was == nil) != (is == nil) {
			t.Errorf("%s: %v for\n%s\n%v for\n%s", v, was, a, is, b)
		}
	}
}

// TestProvidersTakeZod exports the schemas that zod makes: all of them, with the same meaning,
// in a form that each provider takes.
func TestProvidersTakeZod(t *testing.T) {
	t.Parallel()
	text := require.Must(os.ReadFile("../../internal/schema/testdata/zod.json"))(t)
	var corpus []struct {
		Name      string
		Schema    json.RawMessage
		Good, Bad []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &corpus))
	lost := map[llmschema.Format]int{}
	for _, f := range llmschema.Formats() {
		for _, c := range corpus {
			offer, note := offerOf(t, f, string(c.Schema))
			got := inputOf(t, f, offer)
			if got == nil {
				t.Errorf("%s, %s: %+v", f, c.Name, note)
				continue
			}
			if said := refusal(f, got); said != "" && !strings.Contains(said, "pattern") {
				t.Errorf("%s, %s: the provider says %s\n%s", f, c.Name, said, got)
			}
			var values []string
			if len(note.Lost) > 0 { // what is good stays so
				c.Bad = nil
				lost[f]++
			}
			for _, v := range slices.Concat(c.Good, c.Bad) {
				values = append(values, string(v))
			}
			sameVerdicts(t, string(c.Schema), string(got), values)
		}
	}
	want := map[llmschema.Format]int{llmschema.OpenAI: 14, llmschema.OpenAIResponses: 14, llmschema.Gemini: 20}
	if !maps.Equal(lost, want) {
		t.Errorf("losses: %v, want %v", lost, want)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	const input = `{"type":"object","properties":{"$top":{"type":"integer"},"free":{"type":"object"},
		"list":{"type":"array","items":{"$ref":"#/$defs/n"}},"tuple":{"prefixItems":[{"properties":{"a b":{}}}]},
		"map":{"additionalProperties":{"anyOf":[{"type":"null"},{"properties":{"x@y":{}}}]}}},
		"$defs":{"n":{"type":"object","properties":{"$top":{},"next":{"$ref":"#/$defs/n"}}}}}`
	offer, note := offerOf(t, llmschema.Anthropic, input)
	if want := map[string]string{"_top": "$top", "a_b": "a b", "x_y": "x@y"}; !reflect.DeepEqual(note.Renamed, want) {
		t.Errorf("renamed %v, want %v", note.Renamed, want)
	}
	for in, want := range map[string]string{
		`{"_top":1.50}`:                           `{"$top":1.50}`,
		`{"free":{"_top":1,"a_b":2}}`:             `{"free":{"_top":1,"a_b":2}}`,
		`{"list":[{"next":{"_top":{"_top":1}}}]}`: `{"list":[{"next":{"$top":{"_top":1}}}]}`,
		`{"tuple":[{"a_b":1},{"a_b":1}]}`:         `{"tuple":[{"a b":1},{"a_b":1}]}`,
		`{"map":{"x_y":{"x_y":"\u00e9"}}}`:        `{"map":{"x_y":{"x@y":"\u00e9"}}}`,
		`{"$top":1}`:                              `{"$top":1}`,
		`{"_top":`:                                `{"_top":`,
		``:                                        ``,
		`[1]`:                                     `[1]`,
	} {
		assert.Equalf(t, string(offer.Arguments("clock", json.RawMessage(in))), want, "%s", in)
	}
	assert.Equalf(t, string(offer.Arguments("other", json.RawMessage(`{"_top":1}`))), `{"_top":1}`, "another tool's arguments")
}

// TestDescriptionsUseAliases checks that a description mentions other tools by the names that
// the model knows.
func TestDescriptionsUseAliases(t *testing.T) {
	t.Parallel()
	about := clock()
	about.Description = "Not fs.read, but fs.readme; see fs.read. A file (fs.read) of my.fs.read-me."
	for _, f := range llmschema.Formats() {
		want := "Not fs_read, but fs.readme; see fs_read. A file (fs_read) of my.fs.read-me."
		if f == llmschema.MCP {
			want = about.Description
		}
		assert.Containsf(t, string(export(t, f, about, read())), want, "%s", f)
	}
}

// TestAliasesFitGemini checks that Gemini takes the alias of every name.
func TestAliasesFitGemini(t *testing.T) {
	t.Parallel()
	fits := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
	for _, name := range []string{"9lives", "-dash", ".dot", "fs.read", strings.Repeat("1", 128)} {
		if alias := llmschema.Alias(name, among()); !fits.MatchString(alias) {
			t.Errorf("%s: %s", name, alias)
		}
	}
}

// TestMergingIsBounded checks that schemas which refer to each other in ways that double the
// work are left out, and the others are exported.
func TestMergingIsBounded(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, last := range []string{`{}`, `{"$ref":"#/$defs/d0"}`} {
			var defs strings.Builder
			for i := range 30 {
				ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
				fmt.Fprintf(&defs, `"d%d":{"%s":[%s]},`, i, keyword, strings.TrimSuffix(strings.Repeat(ref+",", 60), ","))
			}
			offer, note := offerOf(t, llmschema.OpenAI, `{"type":"object","$ref":"#/$defs/d0","$defs":{`+defs.String()+`"d30":`+last+`}}`)
			if inputOf(t, llmschema.OpenAI, offer) != nil || note.LeftOut == "" {
				t.Errorf("%s: %+v", keyword, note)
			}
		}
	}
	var properties []string
	for i := range 1900 {
		properties = append(properties, fmt.Sprintf(`"p%d":{}`, i))
	}
	wide := strings.Join(properties, ",")
	offer, note := offerOf(t, llmschema.OpenAI, `{"type":"object","properties":{`+wide+`},"anyOf":[{"required":["p1"]},{"required":["p2"]}]}`)
	if inputOf(t, llmschema.OpenAI, offer) == nil && note.LeftOut != "the combined schemas at its root are too many to be merged" {
		t.Errorf("%+v", note)
	}
}
