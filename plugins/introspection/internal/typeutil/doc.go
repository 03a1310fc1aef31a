// Package typeutil answers questions about single types and objects of go/types:
// their members, how they are written, their size, and what they satisfy.
package typeutil
