// Package source reads the files of a workspace without type-checking them:
// which files there are, whether they changed, and what they declare.
//
// Start with [OpenRoot] and [List].
package source
