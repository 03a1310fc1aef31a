package source

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"slices"
)

// ParseFile parses a file with its comments. It leaves out the resolution of
// identifiers within the file, which the type checker does better. A nil src
// means the file on disk.
func ParseFile(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	var content any
	if src != nil {
		content = src
	}
	return parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
}

// Comment returns the text of the first group that has any.
func Comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := g.Text(); text != "" {
			return text
		}
	}
	return ""
}

// Synopsis returns the first sentence of a comment, on one line.
func Synopsis(comment string) string {
	return new(doc.Package).Synopsis(comment)
}

// SortedKeys returns the keys of m, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
