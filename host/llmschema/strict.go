package llmschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	nullable map[*object][]string // arguments that were optional, by the object that has them
}

// strictly returns a copy of a schema as strict mode takes it, or why it cannot be.
func strictly(root *object, note *Note) (*object, map[*object][]string, error) {
	copied, err := parseObject(compact(root))
	if err != nil {
		return nil, nil, err
	}
	said := *note
	said.Rewritten, said.Lost = slices.Clone(note.Rewritten), slices.Clone(note.Lost)
	s := &strict{rewrite{root: copied, note: &said}, map[*object][]string{}}
	s.unions()
	for _, apply := range []rule{constAsEnum, refAlone} {
		if err := apply(&s.rewrite); err != nil {
			return nil, nil, err
		}
	}
	walk(copied, func(o *object) {
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
	walk(s.root, func(o *object) {
		for _, name := range []string{"oneOf", "allOf"} {
			if o.has(name) && !o.has("anyOf") && (name == "oneOf" || len(o.list(name)) == 1) {
				o.rename(name, "anyOf")
				s.rewrote("alternatives are anyOf")
			}
		}
	})
}

// close makes a subschema one that strict mode takes. Those in it are already.
func (s *strict) close(o *object) error {
	for _, m := range slices.Clone(o.members) {
		switch {
		case slices.Contains(strictKeywords, m.name):
		case slices.Contains(impossible, m.name):
			return fmt.Errorf("it uses %s", m.name)
		case slices.Contains(remarks, m.name):
			o.drop(m.name)
		default: // minLength, uniqueItems, default and others: the same page
			o.drop(m.name)
			s.lose("%s", m.name)
		}
	}
	if f := o.text("format"); f != "" && !slices.Contains(strictFormats, f) {
		o.drop("format")
		s.lose("the format %.40s", f)
	}
	if !o.has("type") && !o.has("anyOf") && !o.has("$ref") {
		kind := kindOf(o.list("enum"))
		if kind == "" {
			return errors.New("a part of it takes any value")
		}
		o.set("type", jsonText(kind))
	}
	if takes(o, "array") && o.object("items") == nil {
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
func (s *strict) closeObject(o *object) error {
	properties := o.object("properties")
	more := o.get("additionalProperties")
	switch _, described := more.(*object); {
	case described, !isFalse(more) && len(properties.all()) == 0 && o != s.root:
		return errors.New("an object takes any names")
	case !isFalse(more):
		s.lose("that other names than the given ones are taken")
	}
	o.set("additionalProperties", rawFalse)
	if properties == nil {
		properties = emptyObject()
		o.set("properties", properties)
	}
	required := o.names("required")
	names := make([]string, len(properties.members))
	for i := range properties.members {
		m := &properties.members[i]
		names[i] = m.name
		below, ok := m.value.(*object)
		if !ok {
			return fmt.Errorf("the argument %.60q takes any value", m.name)
		}
		if slices.Contains(required, m.name) || takesNull(below) {
			continue
		}
		m.value = orNull(below)
		s.nullable[o] = append(s.nullable[o], m.name)
		s.rewrote("optional arguments are null")
	}
	o.set("required", jsonNames(names))
	return nil
}

// takes reports whether a subschema names a type.
func takes(o *object, kind string) bool {
	return o.text("type") == kind || slices.Contains(o.names("type"), kind)
}

func takesNull(o *object) bool {
	return takes(o, "null") || slices.ContainsFunc(o.list("anyOf"), func(v any) bool {
		form, ok := v.(*object)
		return ok && takesNull(form)
	})
}

// orNull returns a subschema that takes null as well.
func orNull(o *object) *object {
	null := &object{members: []member{{"type", jsonText("null")}}}
	switch {
	case o.has("anyOf"):
		o.set("anyOf", append(o.list("anyOf"), null))
	case o.has("$ref"):
		return &object{members: []member{{"anyOf", []any{o, null}}}}
	default:
		kinds := o.names("type")
		if kind := o.text("type"); kind != "" {
			kinds = []string{kind}
		}
		o.set("type", jsonNames(append(kinds, "null")))
		if o.has("enum") {
			o.set("enum", append(o.list("enum"), json.RawMessage("null")))
		}
	}
	return o
}

// kindOf returns the type of all values of an enum; empty: they have none in common.
func kindOf(values []any) (kind string) {
	for _, v := range values {
		raw, _ := v.(json.RawMessage)
		is := ""
		switch {
		case len(raw) == 0:
		case raw[0] == '"':
			is = "string"
		case raw[0] == 't', raw[0] == 'f':
			is = "boolean"
		case raw[0] == '-', raw[0] >= '0' && raw[0] <= '9':
			is = "number"
		}
		if is == "" || kind != "" && is != kind {
			return ""
		}
		kind = is
	}
	return kind
}

// fits reports what is beyond the limits of strict mode.
func (s *strict) fits() error {
	properties, enums, text := 0, 0, 0
	walk(s.root, func(o *object) {
		for _, m := range append(o.object("properties").all(), o.object("$defs").all()...) {
			text += len(m.name)
		}
		properties += len(o.object("properties").all())
		enums += len(o.list("enum"))
		for _, v := range o.list("enum") {
			text += len(textOf(v))
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
	o, ok := schema.(*object)
	if !ok {
		return 0
	}
	for _, m := range o.object("properties").all() {
		levels = max(levels, nested(m.value))
	}
	levels = max(levels, nested(o.get("items")))
	for _, form := range o.list("anyOf") {
		levels = max(levels, nested(form)-1)
	}
	return levels + 1
}
