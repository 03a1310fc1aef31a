// Package jsontree reads JSON as a tree that keeps what the text says: the order of members, and
// the spelling of numbers and strings. It also has what a reader of JSON Schema has to know: which
// keywords hold schemas ([Keywords]), and where a reference leads ([Follow]). Start with [Parse];
// [Walk] visits the schemas in a schema.
//
// It does not judge schemas; package schema does.
package jsontree
