// Package policy has the steps of a call's way between a caller and a provider,
// one [tool.Middleware] a file. Package host puts them in order, once per tool
// and not per call; a program that embeds the host seldom needs this package
// but for [Approver].
//
// What the steps know of the caller, and what they find out, travels in the
// context as a [Trace].
package policy
