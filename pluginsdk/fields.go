package pluginsdk

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/ident"
)

// fields decodes what most calls have, texts, integers and booleans, into a struct in one reading,
// where encoding/json takes two, and four times as long. It can only accept: whatever else a document
// has, it leaves to encoding/json. A field's name leads to its number.
type fields map[string]int

var decoders = [...]reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}

// decodesItself reports whether encoding/json would call a method of the type.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(decoders[0]) || p.Implements(decoders[1]) || t == reflect.TypeFor[json.Number]()
}

// fieldsOf returns the fields of a type that can be decoded, and whether those are all. It returns
// nil for a type whose names are not plain to see.
func fieldsOf(t reflect.Type) (known fields, all bool) {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil, false
	}
	known, all = fields{}, true
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous:
			return nil, false
		case !f.IsExported() || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		if !ident.Spells(name, ident.MaxTool, "_.-") || seen[name] {
			return nil, false
		}
		seen[name] = true
		switch kind := f.Type.Kind(); {
		case decodesItself(f.Type) || strings.Contains(options, "string"):
			all = false
		case kind == reflect.String, reflect.Bool <= kind && kind <= reflect.Uint64:
			known[name] = i
		default:
			all = false
		}
	}
	return known, all
}

// decode sets the fields of v that an object names. If it returns false, it may have set some.
func (known fields) decode(doc []byte, v reflect.Value) bool {
	if known == nil {
		return false
	}
	doc, ok := after(doc, '{')
	if rest, empty := after(doc, '}'); ok && empty {
		return len(blank(rest)) == 0
	}
	for ok {
		var name []byte
		if name, doc, ok = quoted(doc); !ok {
			return false
		}
		i, is := known[string(name)]
		if doc, ok = after(doc, ':'); !ok || !is {
			return false
		}
		if doc, ok = setField(v.Field(i), blank(doc)); !ok {
			return false
		}
		if rest, end := after(doc, '}'); end {
			return len(blank(rest)) == 0
		}
		doc, ok = after(doc, ',')
	}
	return false
}

// setField decodes the value that doc begins with, and returns what comes after it.
func setField(f reflect.Value, doc []byte) (rest []byte, ok bool) {
	switch f.Kind() {
	case reflect.String:
		text, rest, ok := quoted(doc)
		f.SetString(string(text))
		return rest, ok
	case reflect.Bool:
		rest, is := bytes.CutPrefix(doc, []byte("true"))
		f.SetBool(is)
		if !is {
			rest, is = bytes.CutPrefix(doc, []byte("false"))
		}
		return rest, is
	}
	n := 0
	for n < len(doc) && (doc[n] == '-' || '0' <= doc[n] && doc[n] <= '9') {
		n++
	}
	if digits := bytes.TrimPrefix(doc[:n], []byte("-")); len(digits) > 1 && digits[0] == '0' {
		return nil, false // JSON has no 01
	}
	if f.CanInt() {
		x, err := strconv.ParseInt(string(doc[:n]), 10, f.Type().Bits())
		f.SetInt(x)
		return doc[n:], err == nil
	}
	x, err := strconv.ParseUint(string(doc[:n]), 10, f.Type().Bits())
	f.SetUint(x)
	return doc[n:], err == nil
}

// quoted returns the text that doc begins with, if it has no escapes, and what comes after it.
func quoted(doc []byte) (text, rest []byte, ok bool) {
	if doc, ok = after(doc, '"'); !ok {
		return nil, nil, false
	}
	n := bytes.IndexByte(doc, '"')
	if n < 0 {
		return nil, nil, false
	}
	plain := true
	for _, c := range doc[:n] {
		if c < ' ' || c == '\\' {
			return nil, nil, false
		}
		plain = plain && c < utf8.RuneSelf
	}
	return doc[:n], doc[n+1:], plain || utf8.Valid(doc[:n])
}

// after returns what comes after the byte, if doc begins with it, but for white space.
func after(doc []byte, b byte) (rest []byte, ok bool) {
	if doc = blank(doc); len(doc) == 0 || doc[0] != b {
		return doc, false
	}
	return doc[1:], true
}

// blank returns doc without the white space that it begins with.
func blank(doc []byte) []byte {
	for len(doc) > 0 && (doc[0] == ' ' || doc[0] == '\t' || doc[0] == '\n' || doc[0] == '\r') {
		doc = doc[1:]
	}
	return doc
}
