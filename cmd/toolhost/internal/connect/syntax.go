package connect

import (
	"errors"
	"maps"
	"reflect"
)

// syntax is the language of a file.
type syntax int

const (
	jsonSyntax syntax = iota // with comments and trailing commas, if the file has them
	tomlSyntax
	yamlSyntax // only printed
)

// parse returns what a text says.
func (s syntax) parse(text string) (map[string]any, error) {
	if s == tomlSyntax {
		return parseTOML(text)
	}
	return parseJSON(text)
}

// put returns how a text gets an entry at a path.
func (s syntax) put(text string, path []string, fields []field) (splice, error) {
	if s == tomlSyntax {
		return putTOML(text, path, fields)
	}
	return putJSON(text, path, fields)
}

// drop returns a text without the entry at a path.
func (s syntax) drop(text string, path []string) (string, error) {
	if s == tomlSyntax {
		return dropTOML(text, path)
	}
	return dropJSON(text, path)
}

// find returns the object at a path; nil: there is none.
func find(tree map[string]any, path []string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

// without returns a tree without what is at a path, and without the objects above it that are empty then.
func without(tree map[string]any, path []string) map[string]any {
	out := maps.Clone(tree)
	below, ok := tree[path[0]].(map[string]any)
	if len(path) == 1 || !ok {
		if len(path) == 1 {
			delete(out, path[0])
		}
		return out
	}
	if below = without(below, path[1:]); len(below) == 0 {
		delete(out, path[0])
	} else {
		out[path[0]] = below
	}
	return out
}

var errMore = errors.New("the change would reach more than the entry: change it by hand, as --print shows")

// same returns an error unless two texts say the same but for what is at a path. It returns what the second has there.
func (s syntax) same(before, after string, path []string) (map[string]any, error) {
	a, err := s.parse(before)
	if err != nil {
		return nil, err
	}
	b, err := s.parse(after)
	if err != nil || !reflect.DeepEqual(without(a, path), without(b, path)) {
		return nil, errMore
	}
	return find(b, path), nil
}
