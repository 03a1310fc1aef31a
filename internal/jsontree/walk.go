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

// Each calls f for each object in a value, schema or not, the outermost first. In is the name of
// the member that the object is, or "".
func Each(v any, f func(in string, o *Object)) { each("", v, f) }

func each(in string, v any, f func(string, *Object)) {
	switch v := v.(type) {
	case *Object:
		f(in, v)
		for _, m := range v.Members {
			each(m.Name, m.Value, f)
		}
	case []any:
		for _, item := range v {
			each("", item, f)
		}
	}
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
