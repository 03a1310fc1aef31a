// Package expand writes out what a Go expression leaves unsaid: inferred type
// arguments, promoted selectors, implicit conversions, & and *.
//
// [Parse] parses an expression, [NewScope] finds the package that it stands in, and
// [Scope.Expand] type-checks and expands it there.
package expand
