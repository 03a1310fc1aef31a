package setting

import (
	"encoding/json"
	"reflect"
)

// Defaults sets the fields of a struct whose tags have a default. It panics if a default does not fit
// its field.
func Defaults(to any) {
	text, err := json.Marshal(Of(reflect.TypeOf(to).Elem()).defaults())
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic("setting: a default: " + err.Error())
	}
}

func (s *Setting) defaults() map[string]any {
	out := map[string]any{}
	for _, m := range s.Members {
		text, ok := m.Field.Tag.Lookup("default")
		switch {
		case ok:
			out[m.Name] = m.decoded(m.JSON(text))
		case m.Names == nil && len(m.Members) > 0 && m.Also == nil && m.Field.Type.Kind() == reflect.Struct:
			out[m.Name] = m.defaults()
		}
	}
	return out
}

// decoded returns what the program takes for JSON of the file.
func (s *Setting) decoded(text json.RawMessage) any {
	var one string
	if json.Unmarshal(text, &one) != nil {
		return text
	}
	v, _ := s.Value(one)
	return v
}

// Value returns what the program takes for a text, apart from paths; false: the text is not of the form.
func (s *Setting) Value(text string) (v any, ok bool) {
	for _, w := range s.Words {
		if w.Name == text {
			return w.Means, true
		}
	}
	if form, ok := Forms[s.Form]; ok {
		return form.Read(text)
	}
	return text, true
}
