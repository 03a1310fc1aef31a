package arguments

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxNesting is how deep names are proposed.
const maxNesting = 3

// Complete returns the words that may stand for typed, the beginning of a value of --arg:
// names of arguments with an equals sign, each followed by a tab and its description, or,
// after the sign, the values that the schema lists. Given are the words before it: an
// argument that is not a list is not proposed again.
func Complete(schema tool.Schema, given []string, typed string) []string {
	root := shapeOf(schema)
	if name, _, ok := strings.Cut(typed, "="); ok {
		return root.valuesOf(name)
	}
	taken := map[string]bool{}
	for _, g := range given {
		name, _, _ := strings.Cut(g, "=")
		taken[name] = true
	}
	var out []string
	root.names("", 1, func(name string, s shape) {
		if !taken[name] || s.takes("array") {
			out = append(out, name+"=\t"+output.Shorten(output.FirstLine(s.description), 80))
		}
	})
	return out
}

// names visits the names of arguments, and of the members of those that are objects.
func (s shape) names(prefix string, depth int, visit func(string, shape)) {
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		sub := s.sub(s.properties[name])
		if len(sub.properties) == 0 || depth == maxNesting {
			visit(prefix+name, sub)
			continue
		}
		sub.names(prefix+name+".", depth+1, visit)
	}
}

// valuesOf returns the values that the schema lists for a name, as words of the command line.
func (s shape) valuesOf(name string) []string {
	ways := s.readings(name)
	if len(ways) != 1 {
		return nil
	}
	at := ways[0].shape
	if at.takes("array") {
		at = at.sub(at.items)
	}
	if len(at.values) == 0 && at.takes("boolean") {
		return []string{name + "=true", name + "=false"}
	}
	var out []string
	for _, v := range at.values {
		text := string(jsontree.Encode(v))
		if jsontree.TypeOf(v) == "string" {
			text = jsontree.Text(v)
		}
		out = append(out, name+"="+text)
	}
	return out
}
