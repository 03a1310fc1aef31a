// Package tool is the vocabulary of toolhost: what a tool is, what a call is,
// and what may come of it. Everything else is built from these words; this
// package knows neither processes nor protocols.
//
// Start with [Provider], the one interface that every source of tools has, on
// both sides of a plugin's pipe, and with [Definition], the one description of
// a tool. [NewSet] makes a Provider of functions.
package tool
