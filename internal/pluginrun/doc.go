// Package pluginrun runs plugin binaries as processes of their own and shows each
// as a tool.Provider.
//
// Start with [Discover], which finds the binaries of a directory, and [New],
// which makes a [Plugin] of one. What the host believes about a plugin it has
// checked: go-plugin's client is used through its own extension points, and
// everything that a hostile plugin could do to it is done here instead, by
// code that expects it (the process, its pipes, its handshake line, its
// socket). docs/isolation.md lists what is contained and how.
package pluginrun
