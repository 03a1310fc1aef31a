package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Parse reads JSON text. It returns a value as of a [Member].
//
// # Errors
//
// One that says only that the text is not JSON.
func Parse(text []byte) (any, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	p := parser{text, json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber() // it refuses none for its size
	return p.value(), nil
}

// ParseObject reads JSON text that is an object.
//
// # Errors
//
// As those of [Parse].
func ParseObject(text []byte) (*Object, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, errors.New("the schema does not begin with {")
	}
	return o, nil
}

// parser reads a text that is valid.
type parser struct {
	text []byte
	dec  *json.Decoder
}

func (p parser) value() any {
	begin := p.dec.InputOffset()
	token, _ := p.dec.Token()
	switch token {
	case json.Delim('{'):
		o := &Object{}
		for p.dec.More() {
			key, _ := p.dec.Token()
			name, _ := key.(string)
			o.Members = append(o.Members, Member{name, p.value()})
		}
		_, _ = p.dec.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for p.dec.More() {
			list = append(list, p.value())
		}
		_, _ = p.dec.Token()
		return list
	}
	return json.RawMessage(bytes.TrimLeft(p.text[begin:p.dec.InputOffset()], " \t\r\n,:"))
}

// MarshalJSON implements [json.Marshaler].
func (o *Object) MarshalJSON() ([]byte, error) { return Encode(o), nil }

// Encode returns a value as JSON without spaces, in the order of its members.
func Encode(v any) []byte { return appendJSON(nil, v) }

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case *Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quote(m.Name)...), ':')
			b = appendJSON(b, m.Value)
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

// quote returns the JSON string of a text, with < and & as they are.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings never fail
	return bytes.TrimSpace(b.Bytes())
}

// Equal reports whether two values are written alike, apart from spaces.
func Equal(a, b any) bool { return bytes.Equal(Encode(a), Encode(b)) }

// Is reports whether a value is this literal: true, false or null.
func Is(v any, literal string) bool { raw, _ := v.(json.RawMessage); return string(raw) == literal }

// TypeOf returns the type of a value as JSON Schema names it; every number is a "number".
func TypeOf(v any) string {
	switch Encode(v)[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// Text returns a JSON string's value, or "" for anything else.
func Text(v any) string {
	raw, _ := v.(json.RawMessage)
	var s string
	_ = json.Unmarshal(raw, &s) // anything else leaves it empty
	return s
}
