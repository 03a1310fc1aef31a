// Command introspection is a toolhost plugin that answers questions about Go
// code the way the compiler sees it: what a symbol is, what a package offers.
// It reads the workspace, the modules that it depends on and the standard
// library, and changes nothing.
//
// Start with [workspace.tools]. A call takes a [view] of the workspace, which
// notices what changed on disk; the view finds packages (package.go) and
// symbols (lookup.go), and loads the types of those it needs (load.go).
package main
