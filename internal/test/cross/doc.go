// Package cross has no code: its test checks the types of all packages for
// macOS.
package cross
