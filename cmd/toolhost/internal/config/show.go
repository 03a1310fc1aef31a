package config

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON writes the file that says the same, with all defaults and without the values
// of variables.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.tree()) }

// tree returns what MarshalJSON writes.
func (c Config) tree() map[string]any {
	type plain Config
	tree, _ := root().tree(plain(c)).(map[string]any)
	return tree
}

// tree returns a Go value of a setting as the file writes it.
func (s *setting) tree(v any) any { return s.shown(decoded(must(json.Marshal(v)))) }

// shown returns the JSON of a value as the file writes it, with the defaults of what is
// absent.
func (s *setting) shown(v any) any {
	if word, ok := s.word(v); ok {
		return word
	}
	if f, ok := forms[s.Format]; ok {
		return f.write(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if child := s.member(key); child != nil {
				v[key] = child.shown(value)
			}
		}
		for _, m := range s.members {
			if _, there := v[m.name]; !there && m.Default != nil {
				v[m.name] = decoded(m.Default)
			}
		}
	case []any:
		for i := range v {
			v[i] = s.each.shown(v[i])
		}
	}
	return v
}

// word returns the word that stands for a value.
func (s *setting) word(v any) (string, bool) {
	for word, means := range s.Words {
		if bytes.Equal(must(json.Marshal(v)), must(json.Marshal(means))) {
			return word, true
		}
	}
	return "", false
}

// decoded returns JSON as maps, lists and scalars, with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	panicIf(d.Decode(&v))
	return v
}
