package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/schema"
)

// SchemaURL is where editors find the JSON Schema of the file.
const SchemaURL = "https://raw.githubusercontent.com/toolhost/toolhost/main/cmd/toolhost/internal/config/schema.json"

//go:embed schema.json
var schemaText []byte

// Schema returns the JSON Schema (2020-12) of the file, for editors and other programs.
// [Parse] also judges the ranges of times and sizes, and settings that contradict each
// other. The caller owns the result.
func Schema() json.RawMessage { return slices.Clone(schemaText) }

// fileSchema is the compiled schema.
var fileSchema = sync.OnceValue(func() *schema.Schema { return must(schema.CompileOwn(schemaText)) })

// root describes the whole file.
var root = sync.OnceValue(func() *setting {
	var doc struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	panicIf(json.Unmarshal(schemaText, &doc))
	s := newSetting(schemaText, doc.Defs)
	s.Title = "" // the name of the file
	return s
})

// setting is what the schema says about one setting, with its references followed.
type setting struct {
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Type        oneOrAll    `json:"type"`
	Enum        []string    `json:"enum"`
	Minimum     json.Number `json:"minimum"` // empty: none
	Maximum     json.Number `json:"maximum"`
	WriteOnly   bool        `json:"writeOnly"` // a secret: values are not shown

	Format string `json:"format"`
	Least  string `json:"formatMinimum"`
	Most   string `json:"formatMaximum"`
	// Words maps words of the file to what the host takes for them.
	Words map[string]json.RawMessage `json:"x-words"`

	Default  json.RawMessage   `json:"default"` // nil: none
	Examples []json.RawMessage `json:"examples"`

	members []member // of a mapping with known keys, in the order of the schema
	each    *setting // of a list's items, or of a mapping from names
	names   *setting // of such a mapping's names
	not     *setting
}

type member struct {
	name string
	*setting
}

// oneOrAll is a string, or a list of strings.
type oneOrAll []string

// UnmarshalJSON reads either form.
func (o *oneOrAll) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(text, &(*o)[0])
}

func newSetting(text json.RawMessage, defs map[string]json.RawMessage) *setting {
	s := new(setting)
	s.read(text, defs)
	return s
}

// read adds what a schema says, after what the schemas that it refers to say.
func (s *setting) read(text json.RawMessage, defs map[string]json.RawMessage) {
	var inner struct {
		Ref        string            `json:"$ref"`
		AllOf      []json.RawMessage `json:"allOf"`
		Properties json.RawMessage   `json:"properties"`
		Additional json.RawMessage   `json:"additionalProperties"`
		Items      json.RawMessage   `json:"items"`
		Names      json.RawMessage   `json:"propertyNames"`
		Not        json.RawMessage   `json:"not"`
	}
	panicIf(json.Unmarshal(text, &inner))
	if def, ok := strings.CutPrefix(inner.Ref, "#/$defs/"); ok {
		s.read(defs[def], defs)
	}
	for _, part := range inner.AllOf {
		s.read(part, defs)
	}
	panicIf(json.Unmarshal(text, s))
	for name, property := range inOrder(inner.Properties) {
		if string(property) == "false" {
			s.members = slices.DeleteFunc(s.members, func(m member) bool { return m.name == name })
			continue
		}
		s.members = append(s.members, member{name, newSetting(property, defs)})
	}
	for to, part := range map[**setting]json.RawMessage{
		&s.each: slices.Concat(inner.Items, inner.Additional), &s.names: inner.Names, &s.not: inner.Not,
	} {
		if len(part) > 0 && string(part) != "false" {
			*to = newSetting(part, defs)
		}
	}
}

// inOrder yields the members of a JSON object as they are written.
func inOrder(object json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		if len(object) == 0 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(object))
		must(d.Token())
		for d.More() {
			name, _ := must(d.Token()).(string)
			var value json.RawMessage
			panicIf(d.Decode(&value))
			if !yield(name, value) {
				return
			}
		}
	}
}

// member returns the setting of a key in a mapping; nil: the key is not known.
func (s *setting) member(key string) *setting {
	for _, m := range s.members {
		if m.name == key {
			return m.setting
		}
	}
	return s.each
}

// isMapping reports whether the setting has settings beneath it, by keys.
func (s *setting) isMapping() bool {
	return len(s.members) > 0 || s.each != nil && slices.Contains(s.Type, "object")
}

// must returns what is read from the schema, which is part of the program.
func must[T any](v T, err error) T {
	panicIf(err)
	return v
}

func panicIf(err error) {
	if err != nil {
		panic("config: schema.json: " + err.Error())
	}
}
