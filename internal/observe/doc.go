// Package observe knows what programs need besides themselves, such as interpreters, libraries and
// what comes with the go command, and records in a [Trace] what a plugin uses.
package observe
