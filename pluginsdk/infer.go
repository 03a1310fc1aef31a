package pluginsdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The jsonschema library infers schemas from Go types. This file corrects those that
// differ from what encoding/json does: types that marshal themselves, byte slices and
// nil maps. Types that contain themselves, which the library refuses, are moved to
// $defs. Struct tags and embedded fields that the library would describe wrongly are
// refused.

// inferInput returns the schema of arguments of type t.
func inferInput(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, fmt.Errorf("the arguments must be a struct or a map, not %s", t)
	}
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.Types, "object") { // a map; arguments cannot be null
		s.Type, s.Types = "object", nil
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("the arguments must be a JSON object, which %s is not", t)
	}
	return s, nil
}

// inferOutput returns the schema of a result of type t, or nil if any result fits.
func inferOutput(t reflect.Type) (*jsonschema.Schema, error) {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[tool.Result](), reflect.TypeFor[struct{}]():
		return nil, nil
	}
	if t.Kind() == reflect.Pointer { // a call that returns nil fails
		t = t.Elem()
	}
	s, err := infer(t)
	if err != nil || isAny(s) {
		return nil, err
	}
	return s, nil
}

func infer(t reflect.Type) (*jsonschema.Schema, error) {
	in := &inference{
		seen:      map[reflect.Type]bool{},
		known:     map[reflect.Type]*jsonschema.Schema{},
		recursive: map[string]reflect.Type{},
	}
	if err := in.visit(t, nil); err != nil {
		return nil, err
	}
	s, err := in.describe(t)
	if err != nil {
		return nil, err
	}
	for name, typ := range in.recursive {
		if s.Defs == nil {
			s.Defs = map[string]*jsonschema.Schema{}
		}
		if s.Defs[name], err = in.describe(typ); err != nil {
			return nil, err
		}
	}
	tidy(s)
	if err := in.constrain(t, s, true); err != nil {
		return nil, err
	}
	for name, typ := range in.recursive {
		if err := in.constrain(typ, s.Defs[name], true); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// inference collects what is known about a type and the types that it contains.
type inference struct {
	seen      map[reflect.Type]bool
	known     map[reflect.Type]*jsonschema.Schema // given to the library
	recursive map[string]reflect.Type             // types that contain themselves, by name in $defs
}

// Comments that mark schemas the library would change: it adds "null" to a type that
// it considers plain. tidy replaces them with the intended schemas.
const (
	markAny = "toolhost:any"
	markRef = "toolhost:ref:"
)

// describe returns the library's schema of t. For a type that contains itself the library
// describes an unnamed copy, because the named type is a reference.
func (in *inference) describe(t reflect.Type) (*jsonschema.Schema, error) {
	nullable := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := in.known[t]; s != nil && strings.HasPrefix(s.Comment, markRef) {
		t = unnamed(t)
	}
	if nullable {
		t = reflect.PointerTo(t)
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: in.known})
}

// visit finds the types in t that need a schema of their own and refuses those that
// cannot be described. The path holds the named types that contain t.
func (in *inference) visit(t reflect.Type, path []reflect.Type) error {
	for depth := 0; t.Kind() == reflect.Pointer; depth++ {
		if depth > 8 {
			return fmt.Errorf("%s points to itself", t)
		}
		t = t.Elem()
	}
	if s := special(t); s != nil {
		in.known[t] = s
		return nil
	}
	if t.Name() != "" {
		if slices.Contains(path, t) {
			in.known[t] = &jsonschema.Schema{Comment: markRef + in.nameDef(t)}
			return nil
		}
		if in.seen[t] {
			return nil
		}
		in.seen[t] = true
		path = append(slices.Clone(path), t)
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("%s has no form in JSON", t)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !t.Key().Implements(textMarshaler) {
			return fmt.Errorf("%s has keys that cannot be described; use strings", t)
		}
		return in.visit(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		return in.visit(t.Elem(), path)
	case reflect.Struct:
		return in.visitFields(t, path)
	}
	return nil
}

func (in *inference) visitFields(t reflect.Type, path []reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		name, settings, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.Anonymous && (name == "-" && settings == "" || !f.IsExported()):
			continue
		case f.Anonymous && (f.Type.Kind() != reflect.Struct || name != "" || special(f.Type) != nil):
			if f.IsExported() || f.Type.Kind() == reflect.Pointer {
				return fmt.Errorf("%s embeds %s in a way that cannot be described; make it a field with a name", t, f.Type)
			}
			continue
		case f.Anonymous:
			continue // VisibleFields includes its fields
		case slices.Contains(strings.Split(settings, ","), "string"):
			return fmt.Errorf("field %s of %s: the json option string cannot be described; make it a string", f.Name, t)
		}
		if err := in.visit(f.Type, path); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// special returns the schema of a type whose elements encoding/json does not encode one
// by one, or nil. A pointer has none: the type that it points to may have one.
func special(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[slog.Level](), t == reflect.TypeFor[tool.Duration]():
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Interface, t.Kind() == reflect.Pointer:
		return nil
	case marshals(t, jsonMarshaler):
		return &jsonschema.Schema{Comment: markAny}
	case t.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case marshals(t, textMarshaler):
		// encoding/json calls a method with a pointer receiver only on addressable values.
		return &jsonschema.Schema{Comment: markAny}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && special(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

func marshals(t, how reflect.Type) bool {
	return t.Implements(how) || reflect.PointerTo(t).Implements(how)
}

var notInName = lazy.Regexp(`[^A-Za-z0-9_.-]+`)

// nameDef registers a type that contains itself and returns its name in $defs. The name
// needs no escaping in a reference.
func (in *inference) nameDef(t reflect.Type) string {
	base := notInName().ReplaceAllString(t.Name(), "_")
	name := base
	for n := 2; in.recursive[name] != nil && in.recursive[name] != t; n++ {
		name = fmt.Sprint(base, n)
	}
	in.recursive[name] = t
	return name
}

// unnamed returns an unnamed type with the same JSON encoding as t.
func unnamed(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(t.Elem())
	case reflect.Map:
		return reflect.MapOf(t.Key(), t.Elem())
	case reflect.Struct:
		var fields []reflect.StructField
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous {
				fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
			}
		}
		return reflect.StructOf(fields)
	}
	return t // nothing else can contain itself
}

// tidy replaces the marks in s with the schemas that they stand for, and allows null for
// maps as for slices.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	isMap := len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil
	ref, isRef := strings.CutPrefix(s.Comment, markRef)
	switch {
	case s.Type == "object" && isMap:
		s.Type, s.Types = "", []string{"null", "object"}
	case s.Comment == markAny:
		s.Comment, s.Types = "", nil
	case isRef && s.Types != nil: // a pointer
		s.Comment, s.Types = "", nil
		s.AnyOf = []*jsonschema.Schema{{Type: "null"}, {Ref: "#/$defs/" + ref}}
	case isRef:
		s.Comment, s.Ref = "", "#/$defs/"+ref
	}
	for _, below := range []map[string]*jsonschema.Schema{s.Properties, s.Defs} {
		for _, c := range below {
			tidy(c)
		}
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
}

// isAny reports whether s, as inferred, allows any value.
func isAny(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Types == nil && s.Ref == "" && s.AnyOf == nil
}
