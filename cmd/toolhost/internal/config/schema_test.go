package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/schema"
)

type object = map[string]any

// level is one mapping of the file, for which the schema and the Go type must have the
// same keys.
type level struct {
	*setting
	of    reflect.Type
	where string // how a file has it
}

func levels() map[string]level {
	top := root()
	one := top.member("plugins").each
	caller := top.member("callers").each
	return map[string]level{
		"":             {top, reflect.TypeFor[Config](), "%s"},
		"audit":        {top.member("audit"), reflect.TypeFor[Audit](), `{"audit":%s}`},
		"approvals":    {top.member("approvals"), reflect.TypeFor[Approvals](), `{"approvals":%s}`},
		"mcp":          {top.member("mcp"), reflect.TypeFor[MCP](), `{"mcp":%s}`},
		"mcp.limits":   {top.member("mcp").member("limits"), reflect.TypeFor[MCPLimits](), `{"mcp":{"limits":%s}}`},
		"mcp.tasks":    {top.member("mcp").member("tasks"), reflect.TypeFor[MCPTasks](), `{"mcp":{"tasks":%s}}`},
		"plugin":       {one, reflect.TypeFor[Plugin](), `{"plugins":{"p":%s}}`},
		"limits":       {one.member("limits"), reflect.TypeFor[plugin.Limits](), `{"plugins":{"p":{"limits":%s}}}`},
		"restart":      {one.member("restart"), reflect.TypeFor[plugin.RestartPolicy](), `{"plugins":{"p":{"restart":%s}}}`},
		"sandbox":      {one.member("sandbox"), reflect.TypeFor[plugin.Sandbox](), `{"plugins":{"p":{"sandbox":%s}}}`},
		"server":       {top.member("mcp_servers").each, reflect.TypeFor[Server](), `{"mcp_servers":{"s":%s}}`},
		"oauth":        {top.member("mcp_servers").each.member("oauth"), reflect.TypeFor[OAuth](), `{"mcp_servers":{"s":{"oauth":%s}}}`},
		"tool":         {top.member("tools").each, reflect.TypeFor[Tool](), `{"tools":{"t":%s}}`},
		"caller":       {caller, reflect.TypeFor[Caller](), `{"callers":{"c":%s}}`},
		"nats":         {top.member("nats"), reflect.TypeFor[NATS](), `{"nats":%s}`},
		"caller.tools": {caller.member("tools"), reflect.TypeFor[Visible](), `{"callers":{"c":{"tools":%s}}}`},
	}
}

func tagsOf(of reflect.Type) []string {
	var tags []string
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			tags = append(tags, tagsOf(f.Type)...)
		case f.IsExported() && tag != "-":
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}

func TestSchemaHasTheKeysOfTheStruct(t *testing.T) {
	t.Parallel()
	for name, l := range levels() {
		if tags := tagsOf(l.of); !slices.Equal(l.keys(), tags) || len(tags) == 0 {
			t.Errorf("%q: the schema has %v\nthe type %v", name, l.keys(), tags)
		}
	}
	withOwn := append(root().member("defaults").keys(), "arguments", "config")
	slices.Sort(withOwn)
	if got := levels()["plugin"].keys(); !slices.Equal(got, withOwn) {
		t.Errorf("a plugin has %v, with defaults %v", got, withOwn)
	}
	if !strings.Contains(string(Schema()), `"$id": "`+SchemaURL+`"`) {
		t.Error("$id is another")
	}
}

// Every key says what it is for; every object is closed, but for the plugin's own.
func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	for name, l := range levels() {
		if _, err := Parse("toolhost.yaml", fmt.Appendf(nil, l.where, `{"no such key": 1}`)); err == nil {
			t.Errorf("%q is not closed", name)
		}
		for _, m := range l.members {
			if len(m.Description) < 20 {
				t.Errorf("%s.%s is described as %q", name, m.name, m.Description)
			}
		}
	}
}

// Each example and each word of the schema is taken, and each key changes something.
func TestSchemaExamplesAreTaken(t *testing.T) {
	t.Parallel()
	tried := 0
	for name, l := range levels() {
		unset, err := Parse("toolhost.yaml", fmt.Appendf(nil, l.where, "{}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range l.members {
			values := slices.Clone(m.Examples)
			for _, word := range m.Enum {
				values = append(values, must(json.Marshal(word)))
			}
			for word := range m.Words {
				values = append(values, must(json.Marshal(word)))
			}
			if len(values) == 0 && !m.isMapping() {
				t.Errorf("%s.%s has no example", name, m.name)
			}
			changed := 0
			for _, value := range values {
				text := fmt.Sprintf("{%q: %s}", m.name, value)
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
				t.Errorf("%s.%s changes nothing", name, m.name)
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d examples", tried)
	}
}

// Defaults of the schema are those of the code.
func TestSchemaDefaults(t *testing.T) {
	t.Parallel()
	type plain Config
	seen := 0
	var compare func(key string, s *setting, has any)
	compare = func(key string, s *setting, has any) {
		if s.Default != nil {
			if seen++; !reflect.DeepEqual(s.shown(has), decoded(s.Default)) {
				t.Errorf("%s is %v by default, the schema says %s", key, has, s.Default)
			}
		}
		members, _ := has.(object)
		for _, m := range s.members {
			if v, there := members[m.name]; there {
				compare(below(key, m.name), m.setting, v)
			}
		}
	}
	compare("", root(), decoded(must(json.Marshal(plain(*Default())))))
	compare("tools.t", root().member("tools").each, object{"disable": false, "approval": string(policy.BySafety)})
	compare("mcp_servers.s", root().member("mcp_servers").each, decoded(must(json.Marshal(Default().NewServer()))))
	compare("callers.c", root().member("callers").each, decoded(must(json.Marshal(Caller{Approval: AnswerAsk, Names: NamesAlias}))))
	if seen < 20 {
		t.Errorf("%d defaults", seen)
	}
}

func compiled(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.CompileOutput(Schema())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bySchema is what the schema says of a file, which has to be YAML.
func bySchema(t testing.TB, s *schema.Schema, file string) error {
	t.Helper()
	text, bad := textOf([]byte(file))
	if bad != nil {
		t.Fatal(bad.message)
	}
	src, err := newSource("toolhost.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	f := &findings{src: src}
	tree := parseTree(f, text)
	if err := f.err(); err != nil {
		t.Fatal(err)
	}
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
