package llmschema_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/llmschema"
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

const draft = `{"$schema":"https://json-schema.org/draft/2020-12/schema",`

const none = `{"type":"object","properties":{},"additionalProperties":false}`

const about = `"description":"Reads <b>a file</b> & more.\nBytes, ümlauts."`

var exports = map[llmschema.Format]string{
	llmschema.OpenAI: `[
		{"type":"function","function":{"name":"clock","description":"Tells the time.","parameters":` + none + `}},
		{"type":"function","function":{"name":"fs_read",` + about + `,"parameters":{` + readSchema + `}}]`,
	llmschema.Anthropic: `[
		{"name":"clock","description":"Tells the time.","input_schema":` + none + `},
		{"name":"fs_read",` + about + `,"input_schema":` + draft + readSchema + `}]`,
	llmschema.Gemini: `{"functionDeclarations":[
		{"name":"clock","description":"Tells the time.","parametersJsonSchema":` + none + `},
		{"name":"fs_read",` + about + `,"parametersJsonSchema":{` + readSchema + `}]}`,
	llmschema.MCP: `[
		{"name":"clock","description":"Tells the time.","inputSchema":` + none + `,
		 "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}},
		{"name":"fs.read","title":"Read a file",` + about + `,"inputSchema":` + draft + readSchema + `,
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
		`"properties":{"z":{"$schema":"kept"},"a":{}},"description":"A"}`)
	for _, f := range llmschema.Formats() {
		got := string(export(t, f, z))
		last := 0
		for _, key := range []string{
			`"title": "Z"`, `"properties"`, `"z"`, `"$schema": "kept"`, `"a"`, `"description": "A"`,
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
	if err := json.Unmarshal(export(t, llmschema.OpenAI, bare), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "object", "properties": map[string]any{}}
	if !reflect.DeepEqual(got[0].Function.Parameters, want) {
		t.Errorf("got %v, want %v", got[0].Function.Parameters, want)
	}
	if string(bare.InputSchema) != `{"type":"object"}` {
		t.Errorf("the definition was changed: %s", bare.InputSchema)
	}
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
			if err := json.Unmarshal(export(t, llmschema.MCP, c.def), &got); err != nil {
				t.Fatal(err)
			}
			if got[0].Annotations != c.want {
				t.Errorf("got %+v, want %+v", got[0].Annotations, c.want)
			}
		})
	}
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	dotted, broken, list := clock(), clock(), clock()
	dotted.Alias = "a.b"
	broken.InputSchema = tool.Schema(`{"type":`)
	list.InputSchema = tool.Schema(`[]`)
	models := []llmschema.Format{llmschema.OpenAI, llmschema.Anthropic, llmschema.Gemini}
	all := llmschema.Formats()
	for _, c := range []struct {
		about   string
		formats []llmschema.Format
		tools   []tool.Definition
		code    tool.Code
		says    string
	}{
		{"an unknown format", []llmschema.Format{"yaml"}, nil, tool.CodeInvalidArguments, `unknown format "yaml"`},
		{
			"an alias with a dot", models, []tool.Definition{dotted}, tool.CodeInvalidDefinition,
			`tool "clock" cannot be exported: the alias "a.b"`,
		},
		{
			"no alias", models, []tool.Definition{{Name: "clock", Description: "Tells the time."}}, tool.CodeInvalidDefinition,
			`the alias ""`,
		},
		{
			"one name for two", all, []tool.Definition{clock(), read(), clock()}, tool.CodeAlreadyExists,
			"two tools would be exported as clock",
		},
		{
			"a broken schema", all, []tool.Definition{broken}, tool.CodeInvalidDefinition,
			"its input schema is not a JSON object",
		},
		{"a list as schema", all, []tool.Definition{list}, tool.CodeInvalidDefinition, "the schema does not begin with {"},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			for _, f := range c.formats {
				text, err := llmschema.Export(f, c.tools)
				if text != nil || tool.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %s, %v; want an error that says %q", f, text, err, c.says)
				}
			}
		})
	}
}

func export(t *testing.T, f llmschema.Format, tools ...tool.Definition) []byte {
	t.Helper()
	text, err := llmschema.Export(f, tools)
	if err != nil {
		t.Fatal(err)
	}
	return text
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
