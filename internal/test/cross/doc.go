// Package cross has no code: its test checks the types of all packages for
// systems other than the one it runs on.
package cross
