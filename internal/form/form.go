// Package form reads the schemas of questions that tools ask: forms that a person fills in.
// Start with [Parse].
//
// A form is a JSON Schema of a flat object, as the Model Context Protocol allows in an
// elicitation (revision 2025-11-25, "Requested Schema"): its properties are strings, numbers,
// integers, booleans, choices, or lists of choices.
package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// The bounds of a question and its answer, in bytes.
const (
	MaxMessage = 8 << 10
	MaxSchema  = 64 << 10
	MaxAnswer  = 64 << 10
)

const (
	maxFields  = 64  // of a form
	maxChoices = 256 // of a field
)

// Form is a form to fill in. Without fields it asks for a yes or a no.
type Form struct {
	Fields []Field // in the order of the schema
}

// Field is one property of the answer.
type Field struct {
	Name        string
	Title       string // empty: the name
	Description string
	Type        string // string, number, integer or boolean; of each choice of a list: string
	List        bool   // any number of choices
	Choices     []Choice
	Required    bool
	Default     json.RawMessage // nil: none
}

// Choice is a value that a field may have.
type Choice struct {
	Value string
	Title string // empty: the value
}

// Check reports what is wrong with a question's message or schema.
func Check(message string, schema json.RawMessage) error {
	switch {
	case strings.TrimSpace(message) == "":
		return errors.New("a question needs a message")
	case len(message) > MaxMessage:
		return fmt.Errorf("the message of a question has %d bytes, more than %d", len(message), MaxMessage)
	case !utf8.ValidString(message):
		return errors.New("the message of a question is not UTF-8")
	}
	_, err := Parse(schema)
	return err
}

// Parse reads a schema; an empty one is a form without fields.
func Parse(schema json.RawMessage) (Form, error) {
	var f Form
	if len(schema) == 0 {
		return f, nil
	}
	if len(schema) > MaxSchema {
		return f, fmt.Errorf("the schema of a question has %d bytes, more than %d", len(schema), MaxSchema)
	}
	var root struct {
		Type       string
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return f, fmt.Errorf("the schema of a question cannot be read: %w", err)
	}
	if root.Type != "object" {
		return f, errors.New("the schema of a question must have the type object")
	}
	properties, err := jsontree.ParseObject(root.Properties)
	if err != nil && root.Properties != nil {
		return f, errors.New("the schema of a question cannot be read: the properties are not an object")
	}
	if n := len(properties.All()); n > maxFields {
		return f, fmt.Errorf("a question has %d fields, more than %d", n, maxFields)
	}
	for _, p := range properties.All() {
		field, err := parseField(p.Name, jsontree.Encode(p.Value))
		if err != nil {
			return f, fmt.Errorf("field %.64q of a question: %w", p.Name, err)
		}
		if r, hidden := field.hidden(); hidden {
			return f, fmt.Errorf("field %s of a question has a character that does not show, %U", sanitize.Quote(p.Name, 64), r)
		}
		f.Fields = append(f.Fields, field)
	}
	for _, name := range root.Required {
		found := false
		for i := range f.Fields {
			if f.Fields[i].Name == name {
				f.Fields[i].Required, found = true, true
			}
		}
		if !found {
			return f, fmt.Errorf("the required field %.64q of a question is not among its properties", name)
		}
	}
	return f, nil
}

// property is a field's schema, as far as it matters here.
type property struct {
	Type        string
	Title       string
	Description string
	Default     json.RawMessage
	choices
	Items *struct {
		Type string
		choices
	}
	EnumNames []string
}

// choices are the values of a field, in one of the ways to write them.
type choices struct {
	Enum  []string
	OneOf []titled
	AnyOf []titled
}

type titled struct {
	Const *string
	Title string
}

func parseField(name string, schema json.RawMessage) (Field, error) {
	var p property
	if err := json.Unmarshal(schema, &p); err != nil {
		return Field{}, fmt.Errorf("it is not a string, number, integer, boolean or list of choices: %w", err)
	}
	f := Field{Name: name, Title: p.Title, Description: p.Description, Type: p.Type}
	if string(p.Default) != "null" {
		f.Default = p.Default
	}
	var err error
	switch p.Type {
	case "string":
		f.Choices, err = p.list(p.EnumNames)
	case "number", "integer", "boolean":
		if p.Enum != nil || p.OneOf != nil || p.AnyOf != nil {
			err = errors.New("only strings can be choices")
		}
	case "array":
		if p.Items == nil || p.Items.Type != "string" && p.Items.Type != "" {
			return f, errors.New("a list must be one of choices, which are strings")
		}
		f.Type, f.List = "string", true
		if f.Choices, err = p.Items.list(nil); err == nil && f.Choices == nil {
			err = errors.New("a list must be one of choices: its items need enum or anyOf")
		}
	default:
		err = fmt.Errorf("the type %.20q is not string, number, integer, boolean or a list of choices", p.Type)
	}
	return f, err
}

// list returns the choices; nil: any value.
func (c choices) list(names []string) ([]Choice, error) {
	var out []Choice
	for i, v := range c.Enum {
		choice := Choice{Value: v}
		if i < len(names) {
			choice.Title = names[i]
		}
		out = append(out, choice)
	}
	for _, t := range append(c.OneOf, c.AnyOf...) {
		if t.Const == nil {
			return nil, errors.New("a choice needs const")
		}
		out = append(out, Choice{*t.Const, t.Title})
	}
	if len(out) > maxChoices {
		return nil, fmt.Errorf("it has %d choices, more than %d", len(out), maxChoices)
	}
	return out, nil
}

// hidden finds a character that is not what it looks like in what a person reads of a field.
func (f Field) hidden() (rune, bool) {
	texts := []string{f.Name, f.Title, f.Description}
	for _, c := range f.Choices {
		texts = append(texts, c.Value, c.Title)
	}
	for _, text := range texts {
		if r, found := sanitize.Hidden(text); found {
			return r, true
		}
	}
	return 0, false
}
