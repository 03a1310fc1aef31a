package pluginsdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The library infers schemas from Go types. This file corrects it where what it
// says is not what encoding/json does: types that marshal themselves, byte slices
// and nil maps. Types that contain themselves, which the library refuses, go to
// $defs. A few uses of struct tags and embedding that it would describe wrongly are
// refused.

func inferInput(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, fmt.Errorf("the arguments must be a struct or a map, not %s", t)
	}
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.Types, "object") { // a map, of which null is no way to call a tool
		s.Type, s.Types = "object", nil
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("the arguments must be a JSON object, which %s is not", t)
	}
	return s, nil
}

// inferOutput gives nil for what has no structure, or any.
func inferOutput(t reflect.Type) (*jsonschema.Schema, error) {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[tool.Result](), reflect.TypeFor[struct{}]():
		return nil, nil
	}
	if t.Kind() == reflect.Pointer { // a nil one is refused when it comes
		t = t.Elem()
	}
	s, err := infer(t)
	if err != nil || isAny(s) {
		return nil, err
	}
	return s, nil
}

func infer(t reflect.Type) (*jsonschema.Schema, error) {
	in := &inference{seen: map[reflect.Type]bool{}, known: map[reflect.Type]*jsonschema.Schema{}, recursive: map[string]reflect.Type{}}
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
	return s, nil
}

// inference is what is known of the types below one root.
type inference struct {
	seen      map[reflect.Type]bool
	known     map[reflect.Type]*jsonschema.Schema // what the library is told
	recursive map[string]reflect.Type             // types that contain themselves, by their names under $defs
}

// Comments that stand for what the library could not be told as it adds "null" to
// what it takes for a plain type. tidy puts the real thing in their place.
const (
	markAny = "toolhost:any"
	markRef = "toolhost:ref:"
)

// describe is the library's schema of t. A type that contains itself is described
// by its unnamed twin, as its own name stands for a reference.
func (in *inference) describe(t reflect.Type) (*jsonschema.Schema, error) {
	nullable := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := in.known[t]; s != nil && strings.HasPrefix(s.Comment, markRef) {
		t = twin(t)
	}
	if nullable {
		t = reflect.PointerTo(t)
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: in.known})
}

// visit finds below t what the library has to be told of, and what it must not
// see. The path has the named types that t is part of.
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
			continue // its fields are visible too
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

// special is the schema of a type that encoding/json does not take apart, or
// nil. A pointer is never special: what it points to is.
func special(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[slog.Level]():
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Interface, t.Kind() == reflect.Pointer:
		return nil
	case marshals(t, jsonMarshaler):
		return &jsonschema.Schema{Comment: markAny}
	case t.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case marshals(t, textMarshaler):
		// encoding/json finds a pointer's method only where it has an address.
		return &jsonschema.Schema{Comment: markAny}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && special(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

func marshals(t, how reflect.Type) bool {
	return t.Implements(how) || reflect.PointerTo(t).Implements(how)
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// nameDef gives a type that contains itself a name under $defs that needs no
// escaping in a reference.
func (in *inference) nameDef(t reflect.Type) string {
	base := notInName.ReplaceAllString(t.Name(), "_")
	name := base
	for n := 2; in.recursive[name] != nil && in.recursive[name] != t; n++ {
		name = fmt.Sprint(base, n)
	}
	in.recursive[name] = t
	return name
}

// twin is a type without a name that JSON shows as it shows t.
func twin(t reflect.Type) reflect.Type {
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

// tidy puts references and "anything" where the marks are, and lets nil maps be
// null as nil slices are.
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

// isAny reports whether s, fresh from inference, says nothing.
func isAny(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Types == nil && s.Ref == "" && s.AnyOf == nil
}
