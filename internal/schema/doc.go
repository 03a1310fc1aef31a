// Package schema validates JSON against JSON Schema: the arguments of a call
// against a tool's input schema, and the result against its output schema.
// Start with [CompileInput] and [Schema.Check].
//
// Neither the schemas nor the values are trusted, but the underlying validator,
// santhosh-tekuri/jsonschema/v5, trusts both: a small schema can keep it busy
// forever, and it cannot be interrupted. So everything is checked by this
// package first:
//
//	text → parse → build (shape, places, references) → loosen → v5
//	text → text judge                                → fits
//	       or else parse → meter (work on the value) → v5 → explain
//
// v5 compiles a copy of the schema that contains only keywords checked here.
// Its messages are never passed on: the problems are derived again from the
// locations that it reports.
//
// The text judge accepts values but never rejects them, and v5 does not see the
// values that it accepts. For nearly every tool, the text judge alone accepts
// the valid calls, and nothing corrects it if v5 would have rejected one. So
// tests compare it with v5, with facts of the specification
// (testdata/facts.txt), and, in FuzzOracles, with two validators that share no
// code with either. The tests document the known differences.
//
// # Limits of a schema
//
//   - 256 KiB of text and 64 levels of nesting
//   - 2000 subschemas, whose addresses have at most 4 KiB each and 1 MiB together
//   - 1000 values in one enum
//   - patterns of 4 KiB, which compile to 100,000 instructions together, and are
//     parsed in about an eighth of a second
//   - references must be "#" or begin with "#/", and their target must be a schema
//   - no schema that applies itself to the same value again
//
// A pattern that package regexp cannot judge, such as one with lookaround, is an
// annotation, which [Schema.Warnings] reports.
//
// # Limits of a value
//
//   - 128 levels of nesting
//   - numbers of 100 characters, with exponents from -1000 to 1000
//   - no escape for half of a surrogate pair, which is not a character
//   - work of about two seconds and a few hundred megabytes, estimated before it
//     is started
//
// Validations that may take longer than some tens of milliseconds run
// concurrently on at most half of the processors.
package schema
