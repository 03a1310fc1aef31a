package llmschema

import (
	"net/url"
	"strings"
)

// escape writes a name as a token of a JSON pointer in the fragment of a URL (RFC 6901).
func escape(name string) string {
	return url.PathEscape(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
}

func unescape(token string) string {
	if plain, err := url.PathUnescape(token); err == nil {
		token = plain
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// moved returns references by which a part of a schema is found after its keywords and
// properties have been renamed. Keyword returns the new name of a keyword of a subschema
// as it is now, property that of a property.
type moved struct {
	keyword  func(s *object, name string) string
	property func(name string) string
}

// ref returns a reference after the renaming.
func (m moved) ref(root *object, ref string) string {
	list := tokens(ref)
	if len(list) == 0 {
		return ref
	}
	out := "#"
	var at any = root
	for i := 0; i < len(list); {
		s, ok := at.(*object)
		if !ok { // it leads nowhere
			return ref
		}
		name := list[i]
		inner := s.get(name)
		out += "/" + escape(m.keyword(s, name))
		i++
		_, several := inner.([]any)
		if i < len(list) && (holders[name] == named || several) {
			step := list[i]
			if name == "properties" || name == "dependentSchemas" {
				step = m.property(step)
			}
			out += "/" + escape(step)
			inner = follow(&object{members: []member{{"x", inner}}}, "#/x/"+escape(list[i]))
			i++
		}
		at = inner
	}
	return out
}

// refs replaces all references of a schema.
func (m moved) refs(root *object) {
	var found []*object
	walk(root, func(s *object) {
		if s.text("$ref") != "" {
			found = append(found, s)
		}
	})
	next := make([]string, len(found)) // all are followed before any is replaced
	for i, s := range found {
		next[i] = m.ref(root, s.text("$ref"))
	}
	for i, s := range found {
		s.set("$ref", jsonText(next[i]))
	}
}

func same(name string) string { return name }
