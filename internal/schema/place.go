package schema

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// locate splits the absolute location of a rule into a subschema, one of its
// keywords, and the rest. A location of a subschema has no keyword.
func (x *explainer) locate(place string) (n *node, keyword, rest string) {
	address := strings.TrimPrefix(place, base)
	for end := len(address); end > 0; end = strings.LastIndexByte(address[:end], '/') {
		if n := x.schema.byAddress[address[:end]]; n != nil {
			keyword, rest, _ = strings.Cut(strings.TrimPrefix(address[end:], "/"), "/")
			return n, keyword, rest
		}
	}
	return x.schema.nodes[0], "", ""
}

// lookUp returns the value at a location.
func (x *explainer) lookUp(at string) any {
	v := x.value
	for _, token := range split(at) {
		switch in := v.(type) {
		case map[string]any:
			key, _ := jsontree.Unescape(token)
			v = in[key]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		}
	}
	return v
}

// path formats a location for callers: opts.items[2].name.
func (x *explainer) path(at string) string {
	path := ""
	v := x.value
	for _, token := range split(at) {
		switch in := v.(type) {
		case []any:
			path += "[" + token + "]"
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(in) {
				v = in[i]
			}
		case map[string]any:
			key, _ := jsontree.Unescape(token)
			path = join(path, key)
			v = in[key]
		}
	}
	return elide(path)
}

// split splits a location into tokens, which are still escaped.
func split(at string) []string {
	if at == "" {
		return nil
	}
	return strings.Split(at[1:], "/")
}

// comparePlaces compares locations step by step, and indexes numerically.
func comparePlaces(a, b string) int {
	for a != b && a != "" && b != "" {
		var s, t string
		s, a, _ = strings.Cut(a, "/")
		t, b, _ = strings.Cut(b, "/")
		if s != t {
			if isIndex(s) && isIndex(t) && len(s) != len(t) {
				return cmp.Compare(len(s), len(t))
			}
			return strings.Compare(s, t)
		}
	}
	return strings.Compare(a, b)
}

// route follows v5's path through the keywords of the schemas. It returns how
// many steps into the value the path has, and whether it ends at a member's
// name.
func route(way string) (steps int, ofName bool) {
	tokens := split(way)
	for i := 0; i < len(tokens); i++ {
		name := tokens[i]
		last := i == len(tokens)-1
		kw := jsontree.Keywords[name]
		switch kw.Shape {
		case jsontree.OneSchema:
			if last && strings.HasPrefix(name, "additional") {
				return steps, ofName // not a member's name: the object or array is at fault
			}
		case jsontree.ItemSchemas:
			if !last && isIndex(tokens[i+1]) {
				i++
			}
		case jsontree.ManySchemas, jsontree.NamedSchemas, jsontree.NamedEither:
			i++
		default:
			if name != "$ref" {
				return steps, ofName
			}
		}
		switch kw.Place {
		case jsontree.AtNames:
			ofName = true
			steps++
		case jsontree.AtMembers, jsontree.AtItems:
			steps++
		}
	}
	return steps, ofName
}

func isIndex(token string) bool {
	_, err := strconv.ParseUint(token, 10, 64)
	return err == nil
}
