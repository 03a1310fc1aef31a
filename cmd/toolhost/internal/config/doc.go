// Package config reads toolhost.yaml, in which an operator says what runs, with
// what, and who may call it. Begin with [Load]; [Initial] is a file to start from,
// and [Schema] lets editors complete it.
//
// The file is read strictly: a key that is not known, a key that is there twice and
// a value of the wrong kind are problems, and all problems of a file are told
// together, each with its line and column, the line itself and what to do. A file
// with a problem has no effect at all.
//
// The way of a file:
//
//	bytes → text (UTF-8, size, characters) → tree (goccy/go-yaml) → Config → checks
//
// The library is given at most 20,000 lines and 20,000 tokens, as the time that it
// takes grows with the square of some of them (half a second at that size). Of YAML,
// documents of one mapping are read, with anchors and aliases; tags, merge keys and
// directives are not, as programs read them differently.
//
// Values of environment variables are secrets: no problem, text or JSON made here
// shows one. See [Variable].
package config
