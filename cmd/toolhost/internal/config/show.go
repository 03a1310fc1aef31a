package config

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/setting"
)

// MarshalJSON writes the file that says the same, with all defaults and without the values
// of variables and of the config of plugins.
func (c Config) MarshalJSON() ([]byte, error) {
	tree := c.tree()
	hideConfig(tree["defaults"])
	plugins, _ := tree["plugins"].(map[string]any)
	for _, one := range plugins {
		hideConfig(one)
	}
	return json.Marshal(tree)
}

// tree returns what MarshalJSON writes, with the config of plugins.
func (c Config) tree() map[string]any {
	type plain Config
	return shownMapping(root(), plain(c))
}

// shownMapping returns a Go value of a setting as the file writes it.
func shownMapping(s *setting.Setting, v any) map[string]any {
	tree, _ := asWritten(s, must(json.Marshal(v))).(map[string]any)
	return tree
}

// asWritten returns the JSON of a value as the file writes it, with the defaults of what is
// absent.
func asWritten(s *setting.Setting, text json.RawMessage) any {
	if word, ok := s.Word(text); ok {
		return word
	}
	if f, ok := setting.Forms[s.Form]; ok {
		return f.Write(text)
	}
	var of map[string]json.RawMessage
	var items []json.RawMessage
	switch {
	case s.IsMapping() && json.Unmarshal(text, &of) == nil && of != nil:
		out := map[string]any{}
		for key, value := range of {
			if child := s.Member(key); child != nil {
				out[key] = asWritten(child, value)
			}
		}
		for _, m := range s.Members {
			if _, there := out[m.Name]; !there && m.Default != nil && s.Also == nil {
				out[m.Name] = decoded(m.Default)
			}
		}
		return out
	case s.IsList() && json.Unmarshal(text, &items) == nil && items != nil:
		out := make([]any, len(items))
		for i := range items {
			out[i] = asWritten(s.Each, items[i])
		}
		return out
	}
	return decoded(text)
}

// decoded returns JSON as maps, lists and scalars, with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	panicIf(d.Decode(&v))
	return v
}

// must returns what JSON was made of, which types of this package can always be.
func must[T any](v T, err error) T {
	panicIf(err)
	return v
}

func panicIf(err error) {
	if err != nil {
		panic("config: " + err.Error())
	}
}
