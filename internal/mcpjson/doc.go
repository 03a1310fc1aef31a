// Package mcpjson has what the JSON of the Model Context Protocol means in the vocabulary of tools:
// results, "_meta" and annotations, as servers write them. Begin with [Result].
package mcpjson
