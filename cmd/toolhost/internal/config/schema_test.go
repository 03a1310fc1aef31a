package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/schema"
)

type object = map[string]any

func readSchema(t *testing.T) object {
	t.Helper()
	var s object
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// resolved is a subschema, or what it refers to.
func resolved(root, s object) object {
	if ref, ok := s["$ref"].(string); ok {
		return root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object)
	}
	return s
}

// propertiesOf are the properties of a subschema.
func propertiesOf(root object, s any) object {
	o, _ := s.(object)
	properties, _ := resolved(root, o)["properties"].(object)
	return properties
}

// A level is one mapping of the file: what the schema, the tables and the Go type say
// of it have to have the same keys.
func levels(root object) map[string]struct {
	schema any
	table  fields
	of     reflect.Type
} {
	c := Default()
	defs := root["$defs"].(object)
	type level = struct {
		schema any
		table  fields
		of     reflect.Type
	}
	return map[string]level{
		"":             {root, c.fields(), reflect.TypeFor[Config]()},
		"audit":        {defs["audit"], c.Audit.fields(), reflect.TypeFor[Audit]()},
		"approvals":    {defs["approvals"], c.Approvals.fields(), reflect.TypeFor[Approvals]()},
		"plugin":       {defs["plugin"], c.Defaults.fields(), reflect.TypeFor[Plugin]()},
		"limits":       {defs["limits"], (&Limits{}).fields(), reflect.TypeFor[Limits]()},
		"restart":      {defs["restart"], (&Restart{}).fields(), reflect.TypeFor[Restart]()},
		"tool":         {defs["tool"], (&Tool{}).fields(), reflect.TypeFor[Tool]()},
		"caller":       {defs["caller"], (&Caller{}).fields(), reflect.TypeFor[Caller]()},
		"caller.tools": {propertiesOf(root, defs["caller"])["tools"], (&Visible{}).fields(), reflect.TypeFor[Visible]()},
	}
}

func tagsOf(of reflect.Type) []string {
	var tags []string
	for f := range of.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && tag != "-" {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}

func TestSchemaHasTheKeysOfTheStruct(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	for name, l := range levels(root) {
		inSchema := slices.Sorted(maps.Keys(propertiesOf(root, l.schema)))
		inTable := slices.Sorted(maps.Keys(l.table))
		if tags := tagsOf(l.of); !slices.Equal(inSchema, inTable) || !slices.Equal(inSchema, tags) || len(tags) == 0 {
			t.Errorf("%q: the schema has %v\nthe tables %v\nthe type %v", name, inSchema, inTable, tags)
		}
	}
	if got, want := slices.Sorted(maps.Keys(propertiesOf(root, root["$defs"].(object)["defaults"]))), slices.Sorted(maps.Keys((&Plugin{}).shared())); !slices.Equal(got, want) {
		t.Errorf("defaults: the schema has %v, the tables %v", got, want)
	}
	defs := root["$defs"].(object)
	for key, p := range propertiesOf(root, defs["defaults"]) {
		if !reflect.DeepEqual(p, propertiesOf(root, defs["plugin"])[key]) {
			t.Errorf("%s is not the same under defaults as under a plugin", key)
		}
	}
	if root["$id"] != SchemaURL {
		t.Errorf("$id is %v", root["$id"])
	}
}

// Every key says what it is for; every object is closed, but for the plugin's own.
func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	for name, l := range levels(root) {
		s := resolved(root, l.schema.(object))
		if s["additionalProperties"] != false {
			t.Errorf("%q is not closed", name)
		}
		for key, p := range propertiesOf(root, l.schema) {
			if text, _ := resolved(root, p.(object))["description"].(string); len(text) < 20 {
				t.Errorf("%s.%s is described as %q", name, key, text)
			}
		}
	}
}

// where is how a file has a setting of a level.
var where = map[string]string{
	"": "%s", "audit": `{"audit":%s}`, "approvals": `{"approvals":%s}`, "plugin": `{"plugins":{"p":%s}}`, "limits": `{"plugins":{"p":{"limits":%s}}}`,
	"restart": `{"plugins":{"p":{"restart":%s}}}`, "tool": `{"tools":{"t":%s}}`, "caller": `{"callers":{"c":%s}}`,
	"caller.tools": `{"callers":{"c":{"tools":%s}}}`,
}

// Each example and each word of the schema is taken, and each key changes something.
func TestSchemaExamplesAreTaken(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	tried := 0
	for name, l := range levels(root) {
		unset, err := Parse("toolhost.yaml", fmt.Appendf(nil, where[name], "{}"))
		if err != nil {
			t.Fatal(err)
		}
		for key, p := range propertiesOf(root, l.schema) {
			s := resolved(root, p.(object))
			examples, _ := s["examples"].([]any)
			words, _ := s["enum"].([]any)
			if len(examples)+len(words) == 0 && s["properties"] == nil && s["additionalProperties"] == nil {
				t.Errorf("%s.%s has no example", name, key)
			}
			changed := 0
			for _, value := range slices.Concat(examples, words) {
				text, err := json.Marshal(object{key: value})
				if err != nil {
					t.Fatal(err)
				}
				c, err := Parse("toolhost.yaml", fmt.Appendf(nil, where[name], text))
				if err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				tried++
				if Diff(unset, c).Any() {
					changed++
				}
			}
			if len(examples)+len(words) > 0 && changed == 0 {
				t.Errorf("%s.%s changes nothing", name, key)
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
	root := readSchema(t)
	text, err := json.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	var have object
	if err := json.Unmarshal(text, &have); err != nil {
		t.Fatal(err)
	}
	plugin := have["defaults"].(object)
	seen := 0
	for name, values := range map[string]object{"": have, "plugin": plugin, "limits": plugin["limits"].(object), "restart": plugin["restart"].(object)} {
		for key, p := range propertiesOf(root, levels(root)[name].schema) {
			want, ok := p.(object)["default"]
			if !ok {
				continue
			}
			if seen++; !reflect.DeepEqual(values[key], want) {
				t.Errorf("%s.%s is %v by default, the schema says %v", name, key, values[key], want)
			}
		}
	}
	if seen < 15 {
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
