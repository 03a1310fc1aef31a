package schema

// shape is what a keyword's value must look like.
type shape uint8

const (
	anything shape = iota
	text
	boolean
	number
	positive     // a number above 0
	limit        // a number; a boolean in draft-04
	count        // an integer from 0 up
	names        // an array of different strings
	types        // a type's name or an array of them
	values       // the values of an enum
	anyList      // an array
	oneSchema    // a schema
	manySchemas  // an array of schemas, not empty
	itemSchemas  // a schema; before 2020-12 also an array of them
	namedSchemas // an object whose values are schemas
	namedNames   // an object whose values are arrays of strings
	namedEither  // an object of schemas and arrays of strings
)

// keyword is what this package knows of a JSON Schema keyword.
type keyword struct {
	shape shape
	// note says that the keyword judges nothing: it is looked at and left
	// out of what v5 sees.
	note bool
	// refused is why a schema may not have it.
	refused string
}

const refusedDynamic = "dynamic references are not supported"

// keywords are those of all drafts. Whether one counts in a given draft is
// left to v5; that it is well-formed is asked in all of them, as v5 answers a
// malformed schema with errors that can outgrow it a thousandfold.
//
// The content keywords judge nothing in any draft, as 2019-09 has it. In
// draft-07 v5 would decode strings and read numbers of any size in them.
var keywords = map[string]keyword{
	"$schema":  {shape: text, note: true}, // only the root's counts, and readDraft has it
	"$ref":     {shape: text},
	"$comment": {shape: text, note: true},
	"$anchor":  {shape: text, note: true}, // references are pointers, so nothing can lead here
	"$defs":    {shape: namedSchemas}, "definitions": {shape: namedSchemas},

	"$vocabulary":    {refused: "vocabularies cannot be chosen"},
	"$dynamicRef":    {refused: refusedDynamic},
	"$recursiveRef":  {refused: refusedDynamic},
	"$dynamicAnchor": {refused: refusedDynamic}, "$recursiveAnchor": {refused: refusedDynamic},

	"title": {shape: text, note: true}, "description": {shape: text, note: true},
	"default": {note: true}, "examples": {shape: anyList, note: true},
	"deprecated": {shape: boolean, note: true}, "readOnly": {shape: boolean, note: true}, "writeOnly": {shape: boolean, note: true},
	"contentEncoding": {shape: text, note: true}, "contentMediaType": {shape: text, note: true}, "contentSchema": {note: true},

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

// Drafts of JSON Schema, by the year or the number that v5 counts them with.
const (
	draft04   = 4
	draft06   = 6
	draft07   = 7
	draft2019 = 2019
	draft2020 = 2020
)

// drafts are the addresses that $schema may have, without scheme and "#".
var drafts = map[string]int{
	"json-schema.org/draft/2020-12/schema": draft2020,
	"json-schema.org/draft/2019-09/schema": draft2019,
	"json-schema.org/draft-07/schema":      draft07,
	"json-schema.org/draft-06/schema":      draft06,
	"json-schema.org/draft-04/schema":      draft04,
}
