// Package config reads toolhost.yaml, in which an operator says what runs, how, and who
// may call it. Start with [Load]; [Initial] returns a file to start from, and [Schema]
// lets editors complete it.
//
// The settings decode into the types that the host takes, whose fields say by their tags what the
// file may have ([setting.Setting]). schema.json, the file of [Initial], and in table.go the settings and their
// defaults are made of the fields and their comments, by make generate; nothing reads tags or the schema here.
//
// The file is read strictly: an unknown key, a repeated key and a value of the wrong kind
// are problems. All problems of a file are reported together, each with its line and
// column, the line itself and what to do. A file with a problem has no effect at all.
//
// A file is read in these steps:
//
//	bytes → text (UTF-8, size, characters) → tree (goccy/go-yaml)
//	tree and settings → JSON of the host's types (times are nanoseconds, paths are absolute), and problems
//	JSON → Config
//	Config → check, for settings that contradict each other
//
// The library is given at most 20,000 lines and 20,000 tokens, because the time it takes
// grows with the square of some of them (half a second at that size). Of YAML, documents
// of one mapping are read, with anchors and aliases. Tags, merge keys and directives are
// refused, because programs read them differently.
//
// Values of environment variables are secrets: no problem, text or JSON made here shows
// one. See [Variable].
package config
