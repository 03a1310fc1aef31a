package pluginsdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/suggest"
)

// A tag is a struct tag that becomes a keyword of the schema of its field. Tags for single
// values hold for each element of a list or map.
type tag struct {
	key string
	of  []string // the types of JSON that it is for; nil: any, and the list itself
	set func(*jsonschema.Schema, reflect.Type, string) error
}

var (
	strs    = []string{"string"}
	numbers = []string{"integer", "number"}
	scalars = []string{"string", "integer", "number"}
	lists   = []string{"array"}
)

// tags are in the order in which they are applied: what is checked comes after what it is
// checked against.
var tags = []tag{
	{"minimum", numbers, bound(func(s *jsonschema.Schema, n *float64) { s.Minimum = n })},
	{"maximum", numbers, bound(func(s *jsonschema.Schema, n *float64) { s.Maximum = n })},
	{"minLength", strs, count(func(s *jsonschema.Schema, n *int) { s.MinLength = n })},
	{"maxLength", strs, count(func(s *jsonschema.Schema, n *int) { s.MaxLength = n })},
	{"pattern", strs, setPattern},
	{"format", strs, setFormat},
	{"minItems", lists, count(func(s *jsonschema.Schema, n *int) { s.MinItems = n })},
	{"maxItems", lists, count(func(s *jsonschema.Schema, n *int) { s.MaxItems = n })},
	{"enum", scalars, setEnum},
	{"sensitive", nil, setSensitive},
	{"example", nil, setExample},
	{"default", nil, func(s *jsonschema.Schema, t reflect.Type, text string) (err error) {
		_, s.Default, err = parseValue(s, t, text)
		return err
	}},
}

// keywords are those of JSON Schema that a struct tag is easily taken for, and what to write instead.
var keywords = map[string]string{
	"description": "describe the field with jsonschema", "title": "", "const": "", "multipleOf": "",
	"exclusiveMinimum": "", "exclusiveMaximum": "", "uniqueItems": "", "minProperties": "", "maxProperties": "",
	"examples": "write example", "required": "fields are required unless they have a default, omitempty or omitzero",
}

// constrain applies the tags of the fields in t to its schema, which is tidy.
func (in *inference) constrain(t reflect.Type, s *jsonschema.Schema, root bool) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s == nil || in.known[t] != nil && !root {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return in.constrain(t.Elem(), s.Items, false)
	case reflect.Map:
		return in.constrain(t.Elem(), s.AdditionalProperties, false)
	case reflect.Struct:
	default:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil || f.Anonymous || !f.IsExported() {
			continue
		}
		err := in.constrain(f.Type, p, false)
		if err == nil {
			err = applyTags(f, p)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func applyTags(f reflect.StructField, s *jsonschema.Schema) error {
	if err := checkKeys(string(f.Tag)); err != nil {
		return err
	}
	for _, tag := range tags {
		text, there := f.Tag.Lookup(tag.key)
		if !there {
			continue
		}
		to, typ := s, f.Type
		if tag.of != nil {
			to, typ = target(s, typ, tag.of)
		}
		if to == nil {
			return fmt.Errorf("the tag %s:%q is for %s, and %s is not; use pluginsdk.Argument for other keywords",
				tag.key, text, strings.Join(tag.of, " or "), f.Type)
		}
		if err := tag.set(to, typ, text); err != nil {
			return fmt.Errorf("the tag %s:%q: %w", tag.key, text, err)
		}
		if err := consistent(to); err != nil {
			return fmt.Errorf("the tag %s:%q: %w", tag.key, text, err)
		}
	}
	return nil
}

// target returns the schema that a tag is for: that of a field, or of its elements.
func target(s *jsonschema.Schema, t reflect.Type, of []string) (*jsonschema.Schema, reflect.Type) {
	for s != nil {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if slices.Contains(of, typeOf(s)) && s.ContentEncoding == "" {
			return s, t
		}
		switch {
		case s.Items != nil:
			s, t = s.Items, t.Elem()
		case t.Kind() == reflect.Map:
			s, t = s.AdditionalProperties, t.Elem()
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// typeOf returns the type of JSON that an inferred schema allows, besides null; empty: any.
func typeOf(s *jsonschema.Schema) string {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		return s.Types[1]
	}
	return s.Type
}

// consistent returns an error if no value can fit.
func consistent(s *jsonschema.Schema) error {
	switch {
	case s.Minimum != nil && s.Maximum != nil && *s.Minimum > *s.Maximum:
		return errors.New("the minimum is above the maximum")
	case s.MinLength != nil && s.MaxLength != nil && *s.MinLength > *s.MaxLength:
		return errors.New("minLength is above maxLength")
	case s.MinItems != nil && s.MaxItems != nil && *s.MinItems > *s.MaxItems:
		return errors.New("minItems is above maxItems")
	}
	return nil
}

// tagKey is one key and its value of a struct tag.
var tagKey = lazy.Regexp(`^([^ ":\x00-\x1f\x7f]+):("(?:[^"\\]|\\.)*")`)

// checkKeys returns an error if a struct tag has a part that package reflect would leave out in
// silence, or a key that is meant for one of ours. Keys of other packages are left alone.
func checkKeys(text string) error {
	for strings.TrimLeft(text, " ") != "" {
		text = strings.TrimLeft(text, " ")
		m := tagKey().FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("the struct tag is malformed from %.40q on; it must be KEY:\"VALUE\" KEY:\"VALUE\"", text)
		}
		text = text[len(m[0]):]
		key := m[1]
		if key == "json" || key == "jsonschema" || slices.ContainsFunc(tags, func(t tag) bool { return t.key == key }) {
			continue
		}
		if instead, refused := keywords[key]; refused {
			if instead == "" {
				instead = "use pluginsdk.Argument"
			}
			return fmt.Errorf("there is no tag %s; %s", key, instead)
		}
		if near := nearest(key); near != "" {
			return fmt.Errorf("there is no tag %s; did you mean %s?", key, near)
		}
	}
	return nil
}

// nearest returns the tag that a key is a misspelling of, or nothing.
func nearest(key string) string {
	switch strings.ToLower(key) {
	case "min":
		return "minimum, minLength or minItems"
	case "max":
		return "maximum, maxLength or maxItems"
	case "form": // of other packages
		return ""
	}
	var keys []string
	for _, t := range tags {
		keys = append(keys, t.key)
	}
	found := suggest.Nearest(key, keys, 1)
	if len(found) == 0 || len(key) < len(found[0])-2 {
		return ""
	}
	return found[0]
}

func bound(set func(*jsonschema.Schema, *float64)) func(*jsonschema.Schema, reflect.Type, string) error {
	return func(s *jsonschema.Schema, t reflect.Type, text string) error {
		_, raw, err := parseValue(s, t, text)
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		set(s, &n)
		return err
	}
}

func count(set func(*jsonschema.Schema, *int)) func(*jsonschema.Schema, reflect.Type, string) error {
	return func(s *jsonschema.Schema, _ reflect.Type, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return errors.New("it is not a whole number from 0 on")
		}
		set(s, &n)
		return nil
	}
}

func setPattern(s *jsonschema.Schema, _ reflect.Type, text string) error {
	_, err := regexp.Compile(text)
	s.Pattern = text
	return err
}

func setFormat(s *jsonschema.Schema, _ reflect.Type, text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	s.Format = text
	return nil
}

func setExample(s *jsonschema.Schema, t reflect.Type, text string) error {
	v, _, err := parseValue(s, t, text)
	if err != nil {
		return err
	}
	s.Examples = []any{v}
	if err := fits(s, nil, v); err != nil {
		return fmt.Errorf("it does not fit: %w", err)
	}
	return nil
}

// setSensitive marks a value that is not shown, in the words of JSON Schema for one that is only
// written.
func setSensitive(s *jsonschema.Schema, _ reflect.Type, text string) error {
	if text != "true" {
		return errors.New(`it must be "true"`)
	}
	s.WriteOnly = true
	return nil
}

// takeSensitive returns the names of the members that are marked as sensitive, and removes the marks.
func takeSensitive(s *jsonschema.Schema) (names []string) {
	if s == nil {
		return nil
	}
	for _, below := range []map[string]*jsonschema.Schema{s.Properties, s.Defs} {
		for _, name := range slices.Sorted(maps.Keys(below)) {
			if below[name].WriteOnly {
				names = append(names, name)
				below[name].WriteOnly = false
			}
			names = append(names, takeSensitive(below[name])...)
		}
	}
	return slices.Concat(names, takeSensitive(s.Items), takeSensitive(s.AdditionalProperties))
}

func setEnum(s *jsonschema.Schema, t reflect.Type, text string) error {
	texts, err := split(text)
	if err != nil {
		return err
	}
	var values []any
	for _, text := range texts {
		v, _, err := parseValue(s, t, text)
		if err != nil {
			return err
		}
		if slices.Contains(values, v) {
			return fmt.Errorf("%v is there twice", v)
		}
		if err := fits(s, nil, v); err != nil {
			return fmt.Errorf("%v does not fit: %w", v, err)
		}
		values = append(values, v)
	}
	if slices.Contains(s.Types, "null") {
		values = append(values, nil)
	}
	s.Enum = values
	return nil
}

// split returns the elements of a list in a tag: a JSON array of strings or numbers, or texts
// between commas.
func split(text string) ([]string, error) {
	if !strings.HasPrefix(text, "[") {
		parts := strings.Split(text, ",")
		for i, p := range parts {
			if parts[i] = strings.TrimSpace(p); parts[i] == "" {
				return nil, errors.New("a value is empty; write such a list as JSON: [\"\",\"a\"]")
			}
		}
		return parts, nil
	}
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, fmt.Errorf("it is not a list in JSON: %w", err)
	}
	var out []string
	for _, v := range values {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		out = append(out, s)
	}
	return out, nil
}

// parseValue reads a value of a tag: a string as it stands, a list as in enum, all else as JSON. It
// must fit the Go type.
func parseValue(s *jsonschema.Schema, t reflect.Type, text string) (value any, raw json.RawMessage, err error) {
	switch typ := typeOf(s); {
	case typ == "string", typ == "" && !json.Valid([]byte(text)):
		raw, err = json.Marshal(text)
	case typ == "array" && s.Items != nil && !strings.HasPrefix(text, "["):
		if !slices.Contains(scalars, typeOf(s.Items)) {
			return nil, nil, errors.New("write a list in JSON")
		}
		raw, err = parseList(s.Items, text)
	default:
		if raw = json.RawMessage(text); !json.Valid(raw) {
			return nil, nil, fmt.Errorf("it is not %s", article(typ))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return nil, nil, errors.New(strings.TrimSuffix(fmt.Sprintf("it is not %s for %s: %s", article(typeOf(s)), t, reason(err)), ": "))
	}
	value, err = exactly(raw)
	return value, raw, err
}

func parseList(items *jsonschema.Schema, text string) (json.RawMessage, error) {
	texts, err := split(text)
	if err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		out[i] = json.RawMessage(text)
		if typeOf(items) == "string" {
			out[i], _ = json.Marshal(text) // strings never fail
		}
	}
	return json.Marshal(out)
}

// article names a type of JSON in a sentence.
func article(typ string) string {
	switch typ {
	case "":
		return "JSON"
	case "array", "integer", "object":
		return "an " + typ
	}
	return "a " + typ
}

// exactly decodes JSON for a schema: integers that fit stay exact.
func exactly(raw json.RawMessage) (any, error) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && (n > 1<<53 || n < -1<<53) {
		return n, nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f), nil
	}
	return v, err
}

// fits returns an error if a value does not fit a part of a schema. It says nothing of parts that
// refer to definitions other than those given.
func fits(s *jsonschema.Schema, defs map[string]*jsonschema.Schema, v any) error {
	alone := *s
	alone.Defs, alone.Default, alone.Examples = defs, nil, nil
	resolved, err := (&alone).CloneSchemas().Resolve(nil)
	if err != nil {
		return nil //nolint:nilerr // it refers to a definition that is not known yet
	}
	if err := resolved.Validate(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}
