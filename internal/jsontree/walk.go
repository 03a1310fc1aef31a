package jsontree

// Schemas returns the schemas that a member of a schema holds.
func (m Member) Schemas() []any {
	switch Keywords[m.Name].Shape {
	case OneSchema, ManySchemas, ItemSchemas:
		if list, ok := m.Value.([]any); ok {
			return list
		}
		return []any{m.Value}
	case NamedSchemas, NamedEither:
		group, _ := m.Value.(*Object)
		list := make([]any, len(group.All()))
		for i, named := range group.All() {
			list[i] = named.Value
		}
		return list
	}
	return nil
}

// Walk calls f for each subschema that is an object, the innermost first.
func Walk(schema any, f func(*Object)) {
	s, ok := schema.(*Object)
	if !ok {
		return
	}
	for _, m := range s.Members {
		for _, sub := range m.Schemas() {
			Walk(sub, f)
		}
	}
	f(s)
}

// Prune removes the members of all objects in a value for which drop reports true, schemas or not.
// In is the name of the member that the object itself is, or "". It reports whether there was one.
func Prune(v any, drop func(in, name string) bool) bool { return prune(v, "", drop) }

func prune(v any, in string, drop func(in, name string) bool) (found bool) {
	switch v := v.(type) {
	case *Object:
		kept := v.Members[:0]
		for _, m := range v.Members {
			if drop(in, m.Name) {
				found = true
				continue
			}
			found = prune(m.Value, m.Name, drop) || found
			kept = append(kept, m)
		}
		v.Members = kept
	case []any:
		for _, item := range v {
			found = prune(item, "", drop) || found
		}
	}
	return found
}

// PropertyNames returns the names of the properties that a schema describes, at any depth. It is
// empty for a text that is not JSON.
func PropertyNames(schema []byte) map[string]bool {
	names := map[string]bool{}
	root, _ := Parse(schema)
	Walk(root, func(s *Object) {
		for _, m := range s.Object("properties").All() {
			names[m.Name] = true
		}
	})
	return names
}
