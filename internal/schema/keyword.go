package schema

// shape is the form that a keyword's value must have.
type shape uint8

const (
	anything shape = iota
	text
	boolean
	number
	positive     // a number above 0
	limit        // a number; a boolean in draft-04
	count        // an integer of at least 0
	names        // an array of different strings
	types        // a type's name or an array of them
	values       // the values of an enum
	anyList      // an array
	oneSchema    // a schema
	manySchemas  // an array of schemas, not empty
	itemSchemas  // a schema; before 2020-12 also an array of schemas
	namedSchemas // an object whose values are schemas
	namedNames   // an object whose values are arrays of strings
	namedEither  // an object whose values are schemas or arrays of strings
)

// keyword describes a JSON Schema keyword.
type keyword struct {
	shape shape
	// annotation reports that the keyword is an annotation: it is checked, and left
	// out of the copy for v5.
	annotation bool
	// refused is the reason why a schema must not have the keyword.
	refused string
}

const refusedDynamic = "dynamic references are not supported"

// keywords are the keywords of all drafts. v5 decides whether one applies in a
// given draft. All of them must be well-formed in every draft, as v5 answers a
// malformed schema with errors that can be a thousand times larger.
//
// The content keywords are annotations in every draft, as 2019-09 specifies. In
// draft-07, v5 would decode strings and parse numbers of any size in them.
var keywords = map[string]keyword{
	"$schema":  {shape: text, annotation: true}, // applies at the root only, where readDraft reads it
	"$ref":     {shape: text},
	"$comment": {shape: text, annotation: true},
	"$anchor":  {shape: text, annotation: true}, // references are pointers, so none can lead here
	"$defs":    {shape: namedSchemas}, "definitions": {shape: namedSchemas},

	"$vocabulary":    {refused: "vocabularies cannot be chosen"},
	"$dynamicRef":    {refused: refusedDynamic},
	"$recursiveRef":  {refused: refusedDynamic},
	"$dynamicAnchor": {refused: refusedDynamic}, "$recursiveAnchor": {refused: refusedDynamic},

	"title": {shape: text, annotation: true}, "description": {shape: text, annotation: true},
	"default": {annotation: true}, "examples": {shape: anyList, annotation: true},
	"deprecated": {shape: boolean, annotation: true}, "readOnly": {shape: boolean, annotation: true},
	"writeOnly":       {shape: boolean, annotation: true},
	"contentEncoding": {shape: text, annotation: true}, "contentMediaType": {shape: text, annotation: true},
	"contentSchema": {annotation: true},

	"type": {shape: types}, "enum": {shape: values}, "const": {shape: anything}, "format": {shape: text},

	"minimum": {shape: number}, "maximum": {shape: number}, "multipleOf": {shape: positive},
	"exclusiveMinimum": {shape: limit}, "exclusiveMaximum": {shape: limit},
	"minLength": {shape: count}, "maxLength": {shape: count}, "pattern": {shape: text},
	"minItems": {shape: count}, "maxItems": {shape: count}, "uniqueItems": {shape: boolean},
	"minContains": {shape: count}, "maxContains": {shape: count},
	"minProperties": {shape: count}, "maxProperties": {shape: count},
	"required": {shape: names}, "dependentRequired": {shape: namedNames}, "dependencies": {shape: namedEither},

	"not": {shape: oneSchema}, "if": {shape: oneSchema}, "then": {shape: oneSchema}, "else": {shape: oneSchema},
	"allOf": {shape: manySchemas}, "anyOf": {shape: manySchemas}, "oneOf": {shape: manySchemas},
	"dependentSchemas": {shape: namedSchemas},

	"properties": {shape: namedSchemas}, "patternProperties": {shape: namedSchemas}, "propertyNames": {shape: oneSchema},
	"additionalProperties": {shape: oneSchema}, "unevaluatedProperties": {shape: oneSchema},

	"items": {shape: itemSchemas}, "prefixItems": {shape: manySchemas}, "contains": {shape: oneSchema},
	"additionalItems": {shape: oneSchema}, "unevaluatedItems": {shape: oneSchema},
}

// Drafts of JSON Schema, by the year or number that v5 uses for them.
const (
	draft04   = 4
	draft06   = 6
	draft07   = 7
	draft2019 = 2019
	draft2020 = 2020
)

// drafts are the supported values of $schema, without the URL scheme and "#".
var drafts = map[string]int{
	"json-schema.org/draft/2020-12/schema": draft2020,
	"json-schema.org/draft/2019-09/schema": draft2019,
	"json-schema.org/draft-07/schema":      draft07,
	"json-schema.org/draft-06/schema":      draft06,
	"json-schema.org/draft-04/schema":      draft04,
}
