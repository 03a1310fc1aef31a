// Package xref finds the uses of symbols. An [Index] has the uses in one
// type-checked package, a [Program] those in all packages of a workspace. Indexes
// may come from different loads: symbols are compared by [Key], types by structure.
package xref
