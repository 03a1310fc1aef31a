package llmschema

import "github.com/toolhost/toolhost/internal/jsontree"

// moved returns references by which a part of a schema is found after its keywords and
// properties have been renamed. Keyword returns the new name of a keyword of a subschema
// as it is now, property that of a property.
type moved struct {
	keyword  func(s *jsontree.Object, name string) string
	property func(name string) string
}

// ref returns a reference after the renaming.
func (m moved) ref(root *jsontree.Object, ref string) string {
	names, ok := jsontree.Tokens(ref)
	if !ok {
		return ref
	}
	var at any = root
	for i := 0; i < len(names); i++ {
		s, ok := at.(*jsontree.Object)
		if !ok { // it leads nowhere
			return ref
		}
		keyword := names[i]
		names[i] = m.keyword(s, keyword)
		if at = s.Get(keyword); i+1 == len(names) {
			break
		}
		shape := jsontree.Keywords[keyword].Shape
		if _, several := at.([]any); several || shape == jsontree.NamedSchemas || shape == jsontree.NamedEither {
			i++
			at = jsontree.Child(at, names[i])
			if keyword == "properties" || keyword == "dependentSchemas" {
				names[i] = m.property(names[i])
			}
		}
	}
	return jsontree.Reference(names)
}

// refs replaces all references of a schema.
func (m moved) refs(root *jsontree.Object) {
	next := map[*jsontree.Object]string{} // all are followed before any is replaced
	jsontree.Walk(root, func(s *jsontree.Object) {
		if ref := s.Text("$ref"); ref != "" {
			next[s] = m.ref(root, ref)
		}
	})
	for s, ref := range next {
		s.Set("$ref", ref)
	}
}

func same(name string) string { return name }
