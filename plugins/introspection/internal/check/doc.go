// Package check loads and type-checks packages, and keeps the results until what
// they were made of changes.
//
// Start with [Workspace.Snapshot]. A snapshot knows the import graph ([Graph]) and
// the names that packages declare, without types. It loads single packages
// ([Snapshot.Package]), and type-checks all packages of the workspace together:
// their declarations ([Snapshot.Outlines]) and their uses of symbols
// ([Snapshot.Program]).
//
// The workspace's packages are type-checked from source, so that an edit never waits
// for the compiler; all others come as export data, once. The results are shared by
// the batches of type-checking that need them, see [checker].
package check
