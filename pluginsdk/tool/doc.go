// Package tool defines the types that all of toolhost shares: tools, calls, results and
// errors. It contains nothing about processes or protocols.
//
// Start with [Provider], the interface of every source of tools, on both sides of the
// connection to a plugin, and with [Definition], which describes a tool. [NewSet] makes a
// Provider from functions.
package tool
