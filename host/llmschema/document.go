package llmschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object that keeps the order of its members: a model reads a schema
// from the top. Values are *object, []any, or json.RawMessage for everything else, as
// written.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

var errNotObject = errors.New("the schema does not begin with {")

// parseObject parses a JSON object.
func parseObject(text []byte) (*object, error) {
	v, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*object)
	if !ok {
		return nil, errNotObject
	}
	return o, nil
}

func parseJSON(text []byte) (any, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	return parseValid(text)
}

func parseValid(text json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	switch text[0] {
	case '{':
		_, _ = dec.Token()
		o := &object{members: []member{}}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseNext(dec)
			if err != nil {
				return nil, err
			}
			o.members = append(o.members, member{key.(string), v}) // the only token possible here
		}
		return o, nil
	case '[':
		_, _ = dec.Token()
		list := []any{}
		for dec.More() {
			v, err := parseNext(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return text, nil
}

func parseNext(dec *json.Decoder) (any, error) {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, err
	}
	return parseValid(raw)
}

// get returns the value of a member, or nil if o does not have it.
func (o *object) get(name string) any {
	if o == nil {
		return nil
	}
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o *object) has(name string) bool { return o.get(name) != nil }

// object returns the member of that name if it is an object, or else nil.
func (o *object) object(name string) *object {
	v, _ := o.get(name).(*object)
	return v
}

// list returns the member of that name if it is an array, or else nil.
func (o *object) list(name string) []any {
	v, _ := o.get(name).([]any)
	return v
}

// text returns the member of that name if it is a string, or else "".
func (o *object) text(name string) string { return textOf(o.get(name)) }

// names returns the strings in the array of that name.
func (o *object) names(name string) []string {
	var out []string
	for _, v := range o.list(name) {
		out = append(out, textOf(v))
	}
	return out
}

// set replaces the value of a member, or appends it.
func (o *object) set(name string, value any) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{name, value})
}

// drop removes members and reports whether there was one.
func (o *object) drop(names ...string) bool {
	before := len(o.members)
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return slices.Contains(names, m.name) })
	return len(o.members) < before
}

// rename gives a member another name, in its place.
func (o *object) rename(from, to string) {
	for i := range o.members {
		if o.members[i].name == from {
			o.members[i].name = to
		}
	}
}

// textOf returns a JSON string's value, or "" for anything else.
func textOf(v any) string {
	raw, _ := v.(json.RawMessage)
	var s string
	_ = json.Unmarshal(raw, &s) // anything else leaves it empty
	return s
}

func isTrue(v any) bool { raw, _ := v.(json.RawMessage); return string(raw) == "true" }

func isFalse(v any) bool { raw, _ := v.(json.RawMessage); return string(raw) == "false" }

// jsonText returns the JSON string of a text.
func jsonText(s string) json.RawMessage {
	b, _ := encode(s, "") // strings never fail
	return bytes.TrimSpace(b)
}

// jsonNames returns a JSON array of strings.
func jsonNames(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = jsonText(name)
	}
	return out
}

// compact returns a value as JSON, in the order of its members.
func compact(v any) []byte { return appendJSON(nil, v) }

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonText(m.name)...), ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case json.RawMessage:
		return append(b, v...)
	}
	return append(b, "null"...)
}

// MarshalJSON implements [json.Marshaler].
func (o *object) MarshalJSON() ([]byte, error) { return compact(o), nil }

func sameJSON(a, b any) bool { return bytes.Equal(compact(a), compact(b)) }

// holds says how a keyword holds subschemas.
type holds uint8

const (
	one   holds = iota + 1 // a schema
	many                   // an array of schemas
	named                  // an object of schemas
)

// holders are the keywords of all drafts that hold subschemas. "items" may also hold an
// array of them, and "dependencies" arrays of names among them.
var holders = map[string]holds{
	"not": one, "if": one, "then": one, "else": one, "contains": one, "propertyNames": one,
	"additionalProperties": one, "unevaluatedProperties": one, "additionalItems": one, "unevaluatedItems": one,
	"items": one, "allOf": many, "anyOf": many, "oneOf": many, "prefixItems": many,
	"properties": named, "patternProperties": named, "dependentSchemas": named, "dependencies": named,
	"$defs": named, "definitions": named,
}

// walk calls f for each subschema that is an object, the innermost first.
func walk(schema any, f func(*object)) {
	s, ok := schema.(*object)
	if !ok {
		return
	}
	for _, m := range s.members {
		switch holders[m.name] {
		case one, many:
			if list, ok := m.value.([]any); ok {
				for _, item := range list {
					walk(item, f)
				}
				continue
			}
			walk(m.value, f)
		case named:
			if group, ok := m.value.(*object); ok {
				for _, sub := range group.members {
					walk(sub.value, f)
				}
			}
		}
	}
	f(s)
}

// follow returns what a local reference leads to, or nil.
func follow(root *object, ref string) any {
	var at any = root
	for _, token := range tokens(ref) {
		switch in := at.(type) {
		case *object:
			at = in.get(token)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			at = in[i]
		default:
			return nil
		}
	}
	return at
}

// tokens splits a reference into the names on its way; "#" has none.
func tokens(ref string) []string {
	_, way, ok := strings.Cut(ref, "#/")
	if !ok {
		return nil
	}
	list := strings.Split(way, "/")
	for i, token := range list {
		list[i] = unescape(token)
	}
	return list
}
