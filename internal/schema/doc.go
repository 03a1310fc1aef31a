// Package schema judges JSON against JSON Schema: the arguments of a call
// against a tool's input schema, and what comes back against its output schema.
// Begin with [CompileInput] and [Schema.Check].
//
// Both the schemas and the values come from strangers, and the validator
// beneath, santhosh-tekuri/jsonschema/v5, trusts both: a small schema can keep
// it busy for ever, and it cannot be interrupted. So everything passes this
// package's own reading first:
//
//	text → parse → build (shape, places, references) → bound → v5
//	text → text judge                                → fits
//	       or else parse → meter (work on the value) → v5 → explain
//
// v5 is shown a copy of the schema with nothing in it but the keywords that
// were judged here, and its messages are never passed on: what is wrong is
// worked out again from the places that it names.
//
// The text judge may only say yes, and v5 never hears of what it says yes to. For
// nearly every tool it is the judge of what passes, and nothing corrects a yes that v5
// would have denied. So it is compared with v5, with facts of the specification
// (testdata/facts.txt), and in FuzzOracles with two validators that share no code
// with either; where these are known to differ, the tests say why.
//
// # Limits of a schema
//
//   - 256 KiB of text and 64 levels of nesting
//   - 2000 subschemas, whose addresses have 4 KiB each and 1 MiB together
//   - 1000 values in one enum
//   - patterns of 4 KiB, which compile to 100,000 instructions together, and are
//     parsed in about an eighth of a second
//   - references that are "#" or begin with "#/", and lead to a schema
//   - 10,000 steps to judge any one value, 128 levels deep
//
// # Limits of a value
//
//   - 128 levels of nesting
//   - numbers of 100 characters, with exponents up to 1000 either way
//   - escapes that stand for characters: half of a surrogate pair is none
//   - work that may take two seconds and a few hundred megabytes, by a count that
//     is made before it is begun
//
// Of values that may take longer than some tens of milliseconds, only as many are
// judged at a time as half of the machine has processors.
package schema
