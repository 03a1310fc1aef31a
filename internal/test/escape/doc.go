// Package escape is the proof of what a sandbox keeps from a plugin's process: a table of
// attempts to get out of it, [Attempts], and below it a plugin that makes each of them for
// real. The tests run that plugin with no confinement at all, where each attempt has to
// succeed that can succeed on this system, and then in the sandboxes, where each has to end
// as the table says. docs/sandbox.md is made of the same table, by [Document].
package escape
