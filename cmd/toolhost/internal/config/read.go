package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/setting"
)

// reader turns a tree into the JSON that the host's types decode, and notes all problems.
type reader struct {
	*findings
	places map[string]place // of the settings that are there
}

// mapping reads the entries of a mapping that are right. A key with nothing beneath it,
// as when all of that is commented out, is an empty mapping.
func (r *reader) mapping(key string, n *node, s *setting.Setting) map[string]any {
	out := map[string]any{}
	for _, e := range n.entries {
		child, at := s.Member(e.key.text), below(key, e.key.text)
		switch {
		case child == nil:
			r.unknown(at, e.key, s)
			continue
		case s.Names != nil && s.Names.Not != "" && setting.Matches(s.Names.Not, e.key.text):
			r.addKey(e.key, at, s.Names.NotTitle, "this name cannot be used here")
			continue
		case s.Names != nil && !setting.Matches(s.Names.Pattern, e.key.text):
			r.addKey(e.key, at, s.Names.Title, "this name cannot be used here")
			continue
		}
		r.places[at] = e.value.at
		if s.Names != nil {
			r.places[at] = e.key.at
		}
		if v := r.value(at, e.value, child); v != nil {
			out[e.key.text] = v
		}
	}
	return out
}

// value reads a value; nil: it says nothing, or it is wrong.
func (r *reader) value(key string, n *node, s *setting.Setting) any {
	switch {
	case !takes(s, n.kind):
	case s.IsMapping() && (n.kind == mapping || n.kind == null):
		if s.Names != nil && len(n.entries) > s.MaxItems || s.Also != nil && len(n.entries) != 1 {
			break
		}
		return r.mapping(key, n, s)
	case n.kind == null:
		return nil
	case n.kind == mapping:
		return r.freeForm(key, n)
	case n.kind == list:
		if len(n.items) < s.MinItems || len(n.items) > s.MaxItems {
			break
		}
		return r.list(key, n, s)
	case n.kind == text || s.Secret || s.Also != nil:
		return r.text(key, n, s)
	case n.kind == boolean || r.inRange(n, s):
		return json.RawMessage(n.text)
	}
	r.wrong(key, n, s)
	return nil
}

func (r *reader) list(key string, n *node, s *setting.Setting) any {
	items, seen := make([]any, len(n.items)), map[string]bool{}
	for i, one := range n.items {
		at := item(key, i)
		r.places[at] = one.at
		items[i] = r.value(at, one, s.Each)
		if s.Each.Enum != nil && items[i] != nil && seen[one.text] {
			r.add(one.at, at, "keep one of them", "%s is there twice", shown(one.text))
		}
		seen[one.text] = true
	}
	return items
}

// inRange reports whether a number is one of those that the setting takes.
func (r *reader) inRange(n *node, s *setting.Setting) bool {
	_, err := strconv.Atoi(n.text)
	if !plainNumber(n.text) || err != nil && slices.Contains(s.Types, "integer") {
		return false
	}
	value, _ := strconv.ParseFloat(n.text, 64)
	least, _ := strconv.ParseFloat(s.Minimum, 64)
	most, _ := strconv.ParseFloat(s.Maximum, 64)
	return s.Maximum == "" || value >= least && value <= most
}

// maxText bounds a text, in bytes.
const maxText = 32 << 10

// text reads a scalar as text, and converts it to what the host takes for it.
func (r *reader) text(key string, n *node, s *setting.Setting) any {
	if i := slices.IndexFunc(s.Words, func(w setting.Word) bool { return w.Name == n.text }); i >= 0 {
		return s.Words[i].Means
	}
	length := utf8.RuneCountInString(n.text)
	most := maxText
	if s.Secret {
		most = maxValue
	}
	switch {
	case s.IsList() || isNumber(s), // for which only words are taken
		s.Enum != nil && !slices.Contains(s.Enum, n.text),
		length < s.MinLength || s.MaxLength > 0 && length > s.MaxLength,
		s.Pattern != "" && !setting.Matches(s.Pattern, n.text),
		s.Not != "" && setting.Matches(s.Not, n.text):
		r.wrong(key, n, s)
		return nil
	case strings.ContainsRune(n.text, 0):
		r.add(n.at, key, "remove it", "the text has a NUL character")
		return nil
	case len(n.text) > most:
		r.add(n.at, key, "shorten it", "the text has %d bytes, more than %d", len(n.text), most)
		return nil
	}
	switch s.Form {
	case setting.FilePath:
		return r.path(key, n)
	case setting.Program:
		return r.program(key, n, s)
	}
	v, ok := s.Value(n.text)
	if !ok {
		r.wrong(key, n, s)
		return nil
	}
	if v, ok := v.(int64); ok {
		least, _ := s.Value(s.Minimum)
		most, _ := s.Value(s.Maximum)
		if v < least.(int64) || v > most.(int64) {
			r.add(n.at, key, fmt.Sprintf("give %s to %s%s", s.Minimum, s.Maximum, orWords(s)), "%s is out of range", shown(n.text))
			return nil
		}
	}
	return v
}

// freeForm reads a mapping that the schema leaves open.
func (r *reader) freeForm(key string, n *node) any {
	before := len(r.problems) + r.omitted
	r.checkJSON(key, n)
	if len(r.problems)+r.omitted > before {
		return nil
	}
	return n.json()
}

// checkJSON notes numbers that JSON cannot express.
func (r *reader) checkJSON(key string, n *node) {
	r.places[key] = n.at
	if n.kind == number && !plainNumber(n.text) {
		hint := "write a plain decimal number, or quote it if it is meant to be text"
		r.add(n.at, key, hint, "programs read %s differently", shown(n.text))
	}
	for _, e := range n.entries {
		r.checkJSON(below(key, e.key.text), e.value)
	}
	for _, one := range n.items {
		r.checkJSON(key, one)
	}
}
