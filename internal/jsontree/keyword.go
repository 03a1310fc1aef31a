package jsontree

import "strings"

// Shape is the form that a keyword's value has.
type Shape uint8

// The shapes.
const (
	Anything     Shape = iota
	String             // a string
	Boolean            // true or false
	Number             // a number
	Positive           // a number above 0
	Limit              // a number; true or false in draft-04
	Count              // an integer of at least 0
	Names              // an array of different strings
	Types              // a type's name or an array of them
	Values             // the values of an enum
	List               // an array
	OneSchema          // a schema
	ManySchemas        // an array of schemas, not empty
	ItemSchemas        // a schema; before 2020-12 also an array of schemas
	NamedSchemas       // an object whose values are schemas
	NamedNames         // an object whose values are arrays of strings
	NamedEither        // an object whose values are schemas or arrays of strings
)

// Place says which values the schemas in a keyword are for, seen from the value that the keyword is
// for.
type Place uint8

// The places.
const (
	Nowhere Place = iota // the keyword holds no schemas, or such that only references lead to
	InPlace              // the same value
	AtMembers
	AtNames // of members
	AtItems
)

// Keyword describes a JSON Schema keyword.
type Keyword struct {
	Shape Shape
	Place Place
	// Annotation reports that the keyword never makes a value wrong.
	Annotation bool
	// Since is the draft that introduced it; 0: draft-04 has it. In an older draft it means nothing.
	Since int
	// Refused is the reason why a host refuses schemas with the keyword; empty: it does not.
	Refused string
}

const refusedDynamic = "dynamic references are not supported"

// Keywords are the keywords of all drafts, and [ErrorMessage] is not among them. All others are
// annotations.
//
// The content keywords are annotations in every draft, as 2019-09 specifies. In
// draft-07, jsonschema/v5 would decode strings and parse numbers of any size in them.
var Keywords = map[string]Keyword{
	"$schema":  {Shape: String, Annotation: true}, // applies at the root only
	"$ref":     {Shape: String},
	"$comment": {Shape: String, Annotation: true},
	"$anchor":  {Shape: String, Annotation: true, Since: Draft2019}, // references are pointers, so none can lead here
	"$defs":    {Shape: NamedSchemas}, "definitions": {Shape: NamedSchemas},

	"$vocabulary":    {Refused: "vocabularies cannot be chosen"},
	"$dynamicRef":    {Refused: refusedDynamic},
	"$recursiveRef":  {Refused: refusedDynamic},
	"$dynamicAnchor": {Refused: refusedDynamic}, "$recursiveAnchor": {Refused: refusedDynamic},

	"title": {Shape: String, Annotation: true}, "description": {Shape: String, Annotation: true},
	"default": {Annotation: true}, "examples": {Shape: List, Annotation: true, Since: Draft06},
	"deprecated": {Shape: Boolean, Annotation: true}, "readOnly": {Shape: Boolean, Annotation: true},
	"writeOnly":       {Shape: Boolean, Annotation: true},
	"contentEncoding": {Shape: String, Annotation: true}, "contentMediaType": {Shape: String, Annotation: true},
	"contentSchema": {Annotation: true},

	"type": {Shape: Types}, "enum": {Shape: Values}, "const": {Since: Draft06}, "format": {Shape: String},

	"minimum": {Shape: Number}, "maximum": {Shape: Number}, "multipleOf": {Shape: Positive},
	"exclusiveMinimum": {Shape: Limit}, "exclusiveMaximum": {Shape: Limit},
	"minLength": {Shape: Count}, "maxLength": {Shape: Count}, "pattern": {Shape: String},
	"minItems": {Shape: Count}, "maxItems": {Shape: Count}, "uniqueItems": {Shape: Boolean},
	"minContains": {Shape: Count, Since: Draft2019}, "maxContains": {Shape: Count, Since: Draft2019},
	"minProperties": {Shape: Count}, "maxProperties": {Shape: Count},
	"required": {Shape: Names}, "dependentRequired": {Shape: NamedNames, Since: Draft2019},

	"not": {Shape: OneSchema, Place: InPlace}, "if": {Shape: OneSchema, Place: InPlace, Since: Draft07},
	"then": {Shape: OneSchema, Place: InPlace, Since: Draft07}, "else": {Shape: OneSchema, Place: InPlace, Since: Draft07},
	"allOf": {Shape: ManySchemas, Place: InPlace}, "anyOf": {Shape: ManySchemas, Place: InPlace},
	"oneOf": {Shape: ManySchemas, Place: InPlace}, "dependencies": {Shape: NamedEither, Place: InPlace},
	"dependentSchemas": {Shape: NamedSchemas, Place: InPlace, Since: Draft2019},

	"properties": {Shape: NamedSchemas, Place: AtMembers}, "patternProperties": {Shape: NamedSchemas, Place: AtMembers},
	"additionalProperties":  {Shape: OneSchema, Place: AtMembers},
	"unevaluatedProperties": {Shape: OneSchema, Place: AtMembers, Since: Draft2019},
	"propertyNames":         {Shape: OneSchema, Place: AtNames, Since: Draft06},

	"items": {Shape: ItemSchemas, Place: AtItems}, "prefixItems": {Shape: ManySchemas, Place: AtItems, Since: Draft2020},
	"contains": {Shape: OneSchema, Place: AtItems, Since: Draft06}, "additionalItems": {Shape: OneSchema, Place: AtItems},
	"unevaluatedItems": {Shape: OneSchema, Place: AtItems, Since: Draft2019},
}

// ErrorMessage is a keyword of toolhost's, an annotation with the author's words for a value that
// breaks a keyword of the same schema: a text for all keywords but "type", or an object with texts
// by keyword. The validator ajv knows it by the same name
// (https://ajv.js.org/packages/ajv-errors.html); model providers do not.
const ErrorMessage = "errorMessage"

// NoArguments is the input schema of a tool without one: the host refuses any argument for it.
const NoArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// Drafts of JSON Schema, by year or number.
const (
	Draft04   = 4
	Draft06   = 6
	Draft07   = 7
	Draft2019 = 2019
	Draft2020 = 2020
)

// drafts are the supported values of $schema, without the URL scheme and "#".
var drafts = map[string]int{
	"json-schema.org/draft/2020-12/schema": Draft2020,
	"json-schema.org/draft/2019-09/schema": Draft2019,
	"json-schema.org/draft-07/schema":      Draft07,
	"json-schema.org/draft-06/schema":      Draft06,
	"json-schema.org/draft-04/schema":      Draft04,
}

// DraftOf returns the draft that a value of "$schema" names.
func DraftOf(address string) (draft int, ok bool) {
	scheme, address, _ := strings.Cut(strings.TrimSuffix(address, "#"), "://")
	draft, ok = drafts[address]
	return draft, ok && (scheme == "https" || scheme == "http")
}
