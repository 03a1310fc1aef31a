package llmschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// Option changes an export.
type Option func(*export)

type export struct{ strict bool }

// Strict makes OpenAI hold models to the schemas ("strict": true): it applies to [OpenAI] and
// [OpenAIResponses]. Optional arguments are then required and may be null, which
// [Offer.Arguments] turns back into absent ones. A tool whose schema cannot be strict, such as
// one that takes any object, is exported as without the option, and its note says why.
func Strict() Option { return func(e *export) { e.strict = true } }

// The subset of JSON Schema in strict mode:
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
var (
	strictKeywords = []string{
		"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs", "definitions",
		"title", "description", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"minItems", "maxItems",
	}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
	// remarks say nothing that a model needs.
	remarks = []string{
		"$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
	}
	// impossible are keywords whose loss would allow what cannot be called.
	impossible = []string{
		"allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", // "not supported": the same page
		"patternProperties", "prefixItems", "additionalItems", "unevaluatedProperties", "unevaluatedItems",
	}
)

// The limits of strict mode: the same page.
const (
	strictLevels     = 10
	strictProperties = 5000
	strictEnums      = 1000
	strictText       = 120_000 // characters of names, enums and definitions
)

// strict is a schema on its way to OpenAI's strict mode.
type strict struct {
	rewrite
	nullable map[*jsontree.Object][]string // arguments that were optional, by the object that has them
}

// strictly returns a copy of a schema as strict mode takes it, or why it cannot be.
func strictly(root *jsontree.Object, note *Note) (*jsontree.Object, map[*jsontree.Object][]string, error) {
	copied, err := jsontree.ParseObject(jsontree.Encode(root))
	if err != nil {
		return nil, nil, err
	}
	said := *note
	said.Rewritten, said.Lost = slices.Clone(note.Rewritten), slices.Clone(note.Lost)
	s := &strict{rewrite{root: copied, note: &said}, map[*jsontree.Object][]string{}}
	s.unions()
	for _, apply := range []rule{constAsEnum, refAlone} {
		if err := apply(&s.rewrite); err != nil {
			return nil, nil, err
		}
	}
	jsontree.Walk(copied, func(o *jsontree.Object) {
		if err == nil {
			err = s.close(o)
		}
	})
	if err == nil {
		err = s.fits()
	}
	if err != nil {
		return nil, nil, err
	}
	*note = said
	return copied, s.nullable, nil
}

// unions writes alternatives as anyOf: "'oneOf' is not permitted",
// https://community.openai.com/t/oneof-allof-usage-has-problems-with-strict-mode/966047
func (s *strict) unions() {
	jsontree.Walk(s.root, func(o *jsontree.Object) {
		for _, name := range []string{"oneOf", "allOf"} {
			if o.Has(name) && !o.Has("anyOf") && (name == "oneOf" || len(o.List(name)) == 1) {
				o.Rename(name, "anyOf")
				s.rewrote("alternatives are anyOf")
			}
		}
	})
}

// close makes a subschema one that strict mode takes. Those in it are already.
func (s *strict) close(o *jsontree.Object) error {
	for _, m := range slices.Clone(o.Members) {
		switch {
		case slices.Contains(strictKeywords, m.Name):
		case slices.Contains(impossible, m.Name):
			return fmt.Errorf("it uses %s", m.Name)
		case slices.Contains(remarks, m.Name):
			o.Drop(m.Name)
		default: // minLength, uniqueItems, default and others: the same page
			o.Drop(m.Name)
			s.lose("%s", m.Name)
		}
	}
	if f := o.Text("format"); f != "" && !slices.Contains(strictFormats, f) {
		o.Drop("format")
		s.lose("the format %.40s", f)
	}
	if !o.Has("type") && !o.Has("anyOf") && !o.Has("$ref") {
		kind := kindOf(o.List("enum"))
		if kind == "" {
			return errors.New("a part of it takes any value")
		}
		o.Set("type", kind)
	}
	if takes(o, "array") && o.Object("items") == nil {
		return errors.New("an array takes any items")
	}
	if takes(o, "object") {
		return s.closeObject(o)
	}
	return nil
}

// closeObject requires every property, and allows no others:
// https://platform.openai.com/docs/guides/structured-outputs#all-fields-must-be-required and
// #additionalproperties-false-must-always-be-set-in-objects
func (s *strict) closeObject(o *jsontree.Object) error {
	properties := o.Object("properties")
	more := o.Get("additionalProperties")
	switch _, described := more.(*jsontree.Object); {
	case described, !jsontree.Is(more, "false") && len(properties.All()) == 0 && o != s.root:
		return errors.New("an object takes any names")
	case !jsontree.Is(more, "false"):
		s.lose("that other names than the given ones are taken")
	}
	o.Set("additionalProperties", false)
	if properties == nil {
		properties = &jsontree.Object{}
		o.Set("properties", properties)
	}
	required := o.Texts("required")
	names := make([]string, len(properties.Members))
	for i := range properties.Members {
		m := &properties.Members[i]
		names[i] = m.Name
		below, ok := m.Value.(*jsontree.Object)
		if !ok {
			return fmt.Errorf("the argument %.60q takes any value", m.Name)
		}
		if slices.Contains(required, m.Name) || takesNull(below) {
			continue
		}
		m.Value = orNull(below)
		s.nullable[o] = append(s.nullable[o], m.Name)
		s.rewrote("optional arguments are null")
	}
	o.Set("required", names)
	return nil
}

// takes reports whether a subschema names a type.
func takes(o *jsontree.Object, kind string) bool { return slices.Contains(o.Types(), kind) }

func takesNull(o *jsontree.Object) bool {
	return takes(o, "null") || slices.ContainsFunc(o.List("anyOf"), func(v any) bool {
		form, ok := v.(*jsontree.Object)
		return ok && takesNull(form)
	})
}

// orNull returns a subschema that takes null as well.
func orNull(o *jsontree.Object) *jsontree.Object {
	null := jsontree.Of("type", "null")
	switch {
	case o.Has("anyOf"):
		o.Set("anyOf", append(o.List("anyOf"), null))
	case o.Has("$ref"):
		return jsontree.Of("anyOf", []any{o, null})
	default:
		o.Set("type", append(o.Types(), "null"))
		if o.Has("enum") {
			o.Set("enum", append(o.List("enum"), json.RawMessage("null")))
		}
	}
	return o
}

// kindOf returns the type of all values of an enum; empty: they have none in common.
func kindOf(values []any) (kind string) {
	for _, v := range values {
		is := jsontree.TypeOf(v)
		if is == "object" || is == "array" || is == "null" || kind != "" && is != kind {
			return ""
		}
		kind = is
	}
	return kind
}

// fits reports what is beyond the limits of strict mode.
func (s *strict) fits() error {
	properties, enums, text := 0, 0, 0
	jsontree.Walk(s.root, func(o *jsontree.Object) {
		for _, m := range append(o.Object("properties").All(), o.Object("$defs").All()...) {
			text += len(m.Name)
		}
		properties += len(o.Object("properties").All())
		enums += len(o.List("enum"))
		for _, v := range o.List("enum") {
			text += len(jsontree.Text(v))
		}
	})
	switch levels := nested(s.root); {
	case properties > strictProperties:
		return fmt.Errorf("it has %d properties, more than %d", properties, strictProperties)
	case enums > strictEnums:
		return fmt.Errorf("it has %d values in enums, more than %d", enums, strictEnums)
	case text > strictText:
		return fmt.Errorf("its names and enums have more than %d characters", strictText)
	case levels > strictLevels:
		return fmt.Errorf("it has %d levels, more than %d", levels, strictLevels)
	}
	return nil
}

// nested returns how many objects and arrays are in one another.
func nested(schema any) (levels int) {
	o, ok := schema.(*jsontree.Object)
	if !ok {
		return 0
	}
	for _, m := range o.Object("properties").All() {
		levels = max(levels, nested(m.Value))
	}
	levels = max(levels, nested(o.Get("items")))
	for _, form := range o.List("anyOf") {
		levels = max(levels, nested(form)-1)
	}
	return levels + 1
}
