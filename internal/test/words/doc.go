// Package words keeps out of the tree the phrases and names that were removed
// from it. `make lint` runs its tests.
//
// The phrases are those that make a sentence hard to read: a negated noun
// ("is no capability" for "is not a capability"), a subject that is missing or
// comes last, and words used in a sense that a dictionary calls archaic. The
// names are private metaphors for which the field has a term;
// docs/architecture.md has the glossary.
//
// Its tests also compare what documents say with what there is: files and documents that they name,
// the tests that SECURITY.md names for its guarantees, and the figures of the newest benchmark.
package words
