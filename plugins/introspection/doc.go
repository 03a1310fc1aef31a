// Command introspection is a toolhost plugin that answers questions about Go
// code the way the compiler sees it: what a symbol is, what a package offers,
// how types are related, what an expression means.
// It reads the workspace, the modules that it depends on and the standard
// library, and changes nothing.
//
// Start with [workspace.tools]. A call takes a [view] of the workspace, which
// notices what changed on disk; the view finds packages (package.go) and
// symbols (lookup.go), and loads the types of those it needs (load.go). What
// compares types across packages has them checked together (universe.go), and a
// form is checked where it stands (form_scope.go).
package main
