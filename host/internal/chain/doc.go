// Package chain holds the steps that a call passes through between a caller
// and a provider, one [Middleware] a file. Package host puts them in
// order, once per tool rather than once per call.
//
// What the steps know about the caller, and what they find out about the call,
// travels in the context as a [Trace].
package chain
