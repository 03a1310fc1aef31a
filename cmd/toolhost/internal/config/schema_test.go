package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/setting"
	"github.com/toolhost/toolhost/internal/test/require"
)

type object = map[string]any

// level is one mapping of the file.
type level struct {
	*setting.Setting
	where string // how a file has it
}

func levels() map[string]level {
	top := described()
	one := top.Member("plugins").Each
	caller := top.Member("callers").Each
	return map[string]level{
		"":             {top, "%s"},
		"audit":        {top.Member("audit"), `{"audit":%s}`},
		"approvals":    {top.Member("approvals"), `{"approvals":%s}`},
		"mcp":          {top.Member("mcp"), `{"mcp":%s}`},
		"mcp.limits":   {top.Member("mcp").Member("limits"), `{"mcp":{"limits":%s}}`},
		"mcp.tasks":    {top.Member("mcp").Member("tasks"), `{"mcp":{"tasks":%s}}`},
		"plugin":       {one, `{"plugins":{"p":%s}}`},
		"limits":       {one.Member("limits"), `{"plugins":{"p":{"limits":%s}}}`},
		"restart":      {one.Member("restart"), `{"plugins":{"p":{"restart":%s}}}`},
		"sandbox":      {one.Member("sandbox"), `{"plugins":{"p":{"sandbox":%s}}}`},
		"server":       {top.Member("mcp_servers").Each, `{"mcp_servers":{"s":%s}}`},
		"oauth":        {top.Member("mcp_servers").Each.Member("oauth"), `{"mcp_servers":{"s":{"oauth":%s}}}`},
		"tool":         {top.Member("tools").Each, `{"tools":{"t":%s}}`},
		"caller":       {caller, `{"callers":{"c":%s}}`},
		"nats":         {top.Member("nats"), `{"nats":%s}`},
		"caller.tools": {caller.Member("tools"), `{"callers":{"c":{"tools":%s}}}`},
	}
}

// Every key says what it is for; every object is closed, but for the plugin's own.
func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	for name, l := range levels() {
		if _, err := Parse("toolhost.yaml", fmt.Appendf(nil, l.where, `{"no such key": 1}`)); err == nil {
			t.Errorf("%q is not closed", name)
		}
	}
	tried := 0
	var look func(where string, v any)
	look = func(where string, v any) {
		of, _ := v.(object)
		properties, _ := of["properties"].(object)
		for name, p := range properties {
			about, ok := p.(object)
			text, _ := about["description"].(string)
			if tried++; ok && len(text) < 20 {
				t.Errorf("%s.%s is described as %q", where, name, text)
			}
			look(where+"."+name, p)
		}
	}
	file, _ := decoded(Schema()).(object)
	defs, _ := file["$defs"].(object)
	look("", file)
	for name, def := range defs {
		look(name, def)
	}
	if tried < 150 {
		t.Errorf("%d settings", tried)
	}
}

// Each example and each word of the schema is taken, and each key changes something.
func TestSchemaExamplesAreTaken(t *testing.T) {
	t.Parallel()
	tried := 0
	for name, l := range levels() {
		unset := require.Must(Parse("toolhost.yaml", fmt.Appendf(nil, l.where, "{}")))(t)
		for _, m := range l.Members {
			values := examples(m)
			for _, word := range m.Enum {
				values = append(values, must(json.Marshal(word)))
			}
			for _, word := range m.Words {
				values = append(values, must(json.Marshal(word.Name)))
			}
			if len(values) == 0 && !m.IsMapping() {
				t.Errorf("%s.%s has no example", name, m.Name)
			}
			changed := 0
			for _, value := range values {
				text := fmt.Sprintf("{%q: %s}", m.Name, value)
				c, err := Parse("toolhost.yaml", fmt.Appendf(nil, l.where, text))
				if err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				tried++
				if Diff(unset, c).any() {
					changed++
				}
			}
			if len(values) > 0 && changed == 0 {
				t.Errorf("%s.%s changes nothing", name, m.Name)
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d examples", tried)
	}
}

func compiled(t testing.TB) *schema.Schema {
	t.Helper()
	s := require.Must(schema.CompileOutput(Schema()))(t)
	return s
}

// bySchema is what the schema says of a file, which has to be YAML.
func bySchema(t testing.TB, s *schema.Schema, file string) error {
	t.Helper()
	text, bad := textOf([]byte(file))
	if bad != nil {
		t.Fatal(bad.message)
	}
	src := require.Must(newSource("toolhost.yaml", text))(t)
	f := &findings{src: src}
	tree := parseTree(f, text)
	require.NoError(t, f.err())
	value := json.RawMessage("null")
	if tree != nil {
		value = tree.json()
	}
	return s.Check(t.Context(), value)
}

func TestSchemaJudgesAlike(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, file := range valid {
		if _, err := Parse("toolhost.yaml", []byte(file)); err != nil {
			t.Errorf("%s\nis refused: %v", file, err)
		}
		if err := bySchema(t, s, file); err != nil {
			t.Errorf("%s\ndoes not fit the schema: %v", file, err)
		}
	}
	for file, c := range invalid {
		if c.notYAML || c.beyondSchema {
			continue
		}
		if err := bySchema(t, s, file); err == nil {
			t.Errorf("%s\nfits the schema", file)
		}
	}
	if strings.Count(string(bytes.TrimSpace(Schema())), "\n") < 100 {
		t.Error("the schema is not laid out to be read")
	}
}
