// Package lookup finds what a caller names: packages and symbols.
//
// Start with [Find], or with [New] for a package alone.
package lookup
