package llmschema_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// read returns a tool that uses every field of an export; clock returns one
// that uses hardly any.
func read() tool.Definition {
	return tool.Definition{
		Name: "fs.read", Alias: "fs_read", Title: "Read a file", Description: "Reads <b>a file</b> & more.\nBytes, ümlauts.",
		InputSchema: tool.Schema(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"properties":{"path":{"type":"string"},"limit":{"type":"integer","maximum":12345678901234567890}},
			"required":["path"],"additionalProperties":false}`),
		OutputSchema: tool.Schema(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Safety:       tool.Safe, Permission: tool.FSRead, Idempotent: true,
	}
}

func clock() tool.Definition {
	return tool.Definition{Name: "clock", Alias: "clock", Description: "Tells the time."}
}

const readSchema = `"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","maximum":12345678901234567890}},
	"required":["path"],"additionalProperties":false}`

const none = `{"type":"object","properties":{},"additionalProperties":false}`

const about = `"description":"Reads <b>a file</b> & more.\nBytes, ümlauts."`

var exports = map[llmschema.Format]string{
	llmschema.OpenAI: `[
		{"type":"function","function":{"name":"clock","description":"Tells the time.","parameters":` + none + `}},
		{"type":"function","function":{"name":"fs_read",` + about + `,"parameters":{` + readSchema + `}}]`,
	llmschema.OpenAIResponses: `[
		{"type":"function","name":"clock","description":"Tells the time.","parameters":` + none + `,"strict":false},
		{"type":"function","name":"fs_read",` + about + `,"parameters":{` + readSchema + `,"strict":false}]`,
	llmschema.Anthropic: `[
		{"name":"clock","description":"Tells the time.","input_schema":` + none + `},
		{"name":"fs_read",` + about + `,"input_schema":{` + readSchema + `}]`,
	llmschema.Gemini: `{"functionDeclarations":[
		{"name":"clock","description":"Tells the time.","parametersJsonSchema":` + none + `},
		{"name":"fs_read",` + about + `,"parametersJsonSchema":{` + readSchema + `}]}`,
	llmschema.MCP: `[
		{"name":"clock","description":"Tells the time.","inputSchema":` + none + `,
		 "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}},
		{"name":"fs.read","title":"Read a file",` + about + `,"inputSchema":{` + readSchema + `,
		 "outputSchema":{"type":"object","properties":{"text":{"type":"string"}}},
		 "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]`,
}

func TestExport(t *testing.T) {
	t.Parallel()
	for _, f := range llmschema.Formats() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			got := export(t, f, read(), clock())
			if want := exports[f]; !reflect.DeepEqual(parse(t, got), parse(t, []byte(want))) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if again := export(t, f, clock(), read()); !bytes.Equal(got, again) {
				t.Errorf("the order of the tools shows:\n%s", again)
			}
			if !bytes.Contains(got, []byte("\n  ")) || !bytes.HasSuffix(got, []byte("\n")) ||
				bytes.Contains(got, []byte(`\u003c`)) {
				t.Errorf("it is not fit to be read:\n%s", got)
			}
		})
	}
}

func TestExportOfNothing(t *testing.T) {
	t.Parallel()
	for _, f := range llmschema.Formats() {
		want := `[]`
		if f == llmschema.Gemini {
			want = `{"functionDeclarations":[]}`
		}
		if got := export(t, f); !reflect.DeepEqual(parse(t, got), parse(t, []byte(want))) {
			t.Errorf("%s: got %s, want %s", f, got, want)
		}
	}
}

// TestExportKeepsTheOrderOfSchemas checks the order of members: a model reads a
// schema from the top, in the order that the plugin's author chose.
func TestExportKeepsTheOrderOfSchemas(t *testing.T) {
	t.Parallel()
	z := clock()
	z.InputSchema = tool.Schema(`{"type":"object","title":"Z","$schema":"https://json-schema.org/draft/2020-12/schema",` +
		`"properties":{"z":{"title":"kept"},"a":{}},"description":"A"}`)
	for _, f := range llmschema.Formats() {
		got := string(export(t, f, z))
		last := 0
		for _, key := range []string{
			`"title": "Z"`, `"properties"`, `"z"`, `"title": "kept"`, `"a"`, `"description": "A"`,
		} {
			i := strings.Index(got[last:], key)
			if i < 0 {
				t.Fatalf("%s: %s is out of order:\n%s", f, key, got)
			}
			last += i
		}
	}
}

func TestOpenAIHasProperties(t *testing.T) {
	t.Parallel()
	bare := clock()
	bare.InputSchema = tool.Schema(`{"type":"object"}`)
	var got []struct {
		Function struct{ Parameters map[string]any }
	}
	require.NoError(t, json.Unmarshal(export(t, llmschema.OpenAI, bare), &got))
	want := map[string]any{"type": "object", "properties": map[string]any{}}
	if !reflect.DeepEqual(got[0].Function.Parameters, want) {
		t.Errorf("got %v, want %v", got[0].Function.Parameters, want)
	}
	assert.Equalf(t, string(bare.InputSchema), `{"type":"object"}`, "the definition was changed: %s", bare.InputSchema)
}

func TestMCPLeavesOutOtherOutputSchemas(t *testing.T) {
	t.Parallel()
	for schema, shown := range map[string]bool{
		`{"type":"object"}`:            true,
		`{ "type" : "object" }`:        true,
		`{"type":"array"}`:             false,
		`{"type":["object","null"]}`:   false,
		`{"Type":"object"}`:            false,
		`{"$ref":"#/$defs/a"}`:         false,
		`true`:                         false,
		``:                             false,
		`{"anyOf":[{"type":"object"}]`: false,
	} {
		c := clock()
		c.OutputSchema = tool.Schema(schema)
		if got := string(export(t, llmschema.MCP, c)); strings.Contains(got, "outputSchema") != shown {
			t.Errorf("%s: want it there: %v\n%s", schema, shown, got)
		}
	}
}

func TestMCPHints(t *testing.T) {
	t.Parallel()
	type hints struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint bool }
	for _, c := range []struct {
		about string
		def   tool.Definition
		want  hints
	}{
		{"nothing is said", tool.Definition{}, hints{DestructiveHint: true, OpenWorldHint: true}},
		{"looks at files", tool.Definition{Safety: tool.Safe, Permission: tool.FSRead}, hints{ReadOnlyHint: true}},
		{"writes files", tool.Definition{Safety: tool.Dangerous, Permission: tool.FSWrite, Idempotent: true},
			hints{DestructiveHint: true, IdempotentHint: true}},
		{"can be undone", tool.Definition{Safety: tool.Cautious, Permission: tool.FSWrite}, hints{}},
		{"runs what it is given", tool.Definition{Safety: tool.Cautious, Permission: tool.Exec},
			hints{DestructiveHint: true, OpenWorldHint: true}},
		{
			"looks at the world", tool.Definition{Safety: tool.Safe, Permission: tool.Net},
			hints{ReadOnlyHint: true, OpenWorldHint: true},
		},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			c.def.Name, c.def.Description = "a", "A."
			var got []struct{ Annotations hints }
			require.NoError(t, json.Unmarshal(export(t, llmschema.MCP, c.def), &got))
			assert.Equal(t, got[0].Annotations, c.want)
		})
	}
}

// TestOneToolCostsNoOther checks that a tool that cannot be exported is left out, with the
// reason, and the others are exported.
func TestOneToolCostsNoOther(t *testing.T) {
	t.Parallel()
	dotted, broken, list, never := clock(), clock(), clock(), clock()
	dotted.Alias = "a.b"
	broken.InputSchema = tool.Schema(`{"type":`)
	list.InputSchema = tool.Schema(`[]`)
	never.InputSchema = tool.Schema(`{"type":"object","allOf":[false]}`)
	models := []llmschema.Format{llmschema.OpenAI, llmschema.OpenAIResponses, llmschema.Anthropic, llmschema.Gemini}
	for _, c := range []struct {
		about   string
		formats []llmschema.Format
		tool    tool.Definition
		says    string
	}{
		{"an alias with a dot", models, dotted, `the alias "a.b" is not a name that models accept`},
		{"a broken schema", llmschema.Formats(), broken, "its input schema is not a JSON object"},
		{"a list as schema", llmschema.Formats(), list, "the schema does not begin with {"},
		{"a schema that nothing fits", models, never, "no arguments fit its schema"},
	} {
		for _, f := range c.formats {
			offer := require.Must(llmschema.Export(f, []tool.Definition{c.tool, read()}))(t)
			if bytes.Contains(offer.Tools, []byte("clock")) || !bytes.Contains(offer.Tools, []byte("Reads <b>")) {
				t.Errorf("%s, %s: %s", f, c.about, offer.Tools)
			}
			if len(offer.Notes) != 1 || offer.Notes[0].Tool != "clock" || !strings.Contains(offer.Notes[0].LeftOut, c.says) {
				t.Errorf("%s, %s: the notes are %+v", f, c.about, offer.Notes)
			}
		}
	}
	offer, err := llmschema.Export(llmschema.OpenAI, []tool.Definition{clock(), read(), clock()})
	if err != nil || len(offer.Notes) != 1 || offer.Notes[0].LeftOut != "another tool is exported as clock" {
		t.Errorf("one name for two: %+v, %v", offer, err)
	}
	if _, err := llmschema.Export[tool.Definition]("yaml", nil); tool.CodeOf(err) != tool.CodeInvalidArguments || !strings.Contains(err.Error(), `unknown format "yaml"`) {
		t.Errorf("an unknown format: %v", err)
	}
}

func export(t *testing.T, f llmschema.Format, tools ...tool.Definition) []byte {
	t.Helper()
	offer := require.Must(llmschema.Export(f, tools))(t)
	return offer.Tools
}

// parse decodes JSON and keeps numbers as written.
func parse(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// Tools are exported as a host lists them, or as they were defined.
func TestExportOfTools(t *testing.T) {
	t.Parallel()
	list := []tool.Tool{{Definition: tool.Definition{Name: "a.b", Description: "A.", Safety: tool.Safe}}, {Definition: tool.Definition{Name: "a_b", Alias: "a_b"}}}
	offer := require.Must(llmschema.Export(llmschema.Anthropic, list))(t)
	var tools []struct{ Name string }
	require.NoError(t, json.Unmarshal(offer.Tools, &tools))
	if len(tools) != 2 || tools[0].Name == tools[1].Name || len(offer.Notes) > 2 {
		t.Errorf("%s %+v", offer.Tools, offer.Notes)
	}
}

func TestExportWarns(t *testing.T) {
	t.Parallel()
	list := make([]tool.Definition, 129)
	for i := range list {
		list[i] = tool.Definition{Name: "t" + strconv.Itoa(i), Description: strings.Repeat("é", 1024)}
	}
	list[7].Description += "!"
	want := []string{
		"there are 129 tools, and OpenAI takes 128 in a request",
		"descriptions of over 1024 characters, which some servers refuse: 1, as of t7",
	}
	assert.EqualSlices(t, require.Must(llmschema.Export(llmschema.OpenAI, list))(t).Warnings, want)
	if got := require.Must(llmschema.Export(llmschema.OpenAI, list[8:]))(t).Warnings; got != nil {
		t.Errorf("%q", got)
	}
}
