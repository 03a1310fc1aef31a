// Package setting describes the settings of a file by the Go types that hold them. Start with [Of].
//
// A field of a struct is a setting. Its name is that of encoding/json, its comment is what the
// reference says of it, and its tags say what it takes, with the names that the tags of tools have:
//
//	minimum, maximum, minItems, maxItems, enum, default, title
//	example  values to try, with " | " between them
//	is       the [Kind] of a text, of the items of a list, or of all texts beneath
//	key      the [Kind] of the names of a mapping, whose values have the tags
//	words    what may stand for a value, and what it means in JSON: never=0
//	without  settings of a struct that are not there
//
// Values are written as in the file: a time as 10m, a size as 64MiB, a list with commas.
package setting
