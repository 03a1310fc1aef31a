package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reader turns a tree into the JSON that the host's types decode, and notes all problems.
type reader struct {
	*findings
	places map[string]place // of the settings that are there
	faulty map[*node]bool   // values and keys for which a problem was noted
}

// mapping reads the entries of a mapping that are right. A key with nothing beneath it,
// as when all of that is commented out, is an empty mapping.
func (r *reader) mapping(key string, n *node, s *setting) map[string]any {
	out := map[string]any{}
	for _, e := range n.entries {
		child, at := s.member(e.key.text), below(key, e.key.text)
		if child == nil || r.faulty[e.key] {
			continue
		}
		r.places[at] = e.value.at
		if s.names != nil {
			r.places[at] = e.key.at
		}
		if v := r.value(at, e.value, child); v != nil {
			out[e.key.text] = v
		}
	}
	return out
}

// value reads a value; nil: it says nothing, or it is wrong.
func (r *reader) value(key string, n *node, s *setting) any {
	switch {
	case r.faulty[n]:
		return nil
	case s.isMapping() && (n.kind == mapping || n.kind == null):
		return r.mapping(key, n, s)
	case n.kind == null:
		return nil
	case n.kind == mapping:
		return r.freeForm(key, n)
	case n.kind == list:
		items := make([]any, len(n.items))
		for i, one := range n.items {
			at := item(key, i)
			r.places[at] = one.at
			items[i] = r.value(at, one, s.each)
		}
		return items
	case !s.takes(n.kind), slices.Contains(s.Type, "integer") && n.kind == number && !wholeNumber(n.text):
		r.wrong(key, n, s) // the schema takes 0x10 for text, and 1.0 for a whole number
		return nil
	case n.kind == text || s.WriteOnly || s.Format == "label":
		return r.text(key, n, s)
	}
	return json.RawMessage(n.text)
}

func wholeNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// maxText bounds a text, in bytes.
const maxText = 32 << 10

// text reads a scalar as text, and converts it to what the host takes for it.
func (r *reader) text(key string, n *node, s *setting) any {
	if strings.ContainsRune(n.text, 0) {
		r.add(n.at, key, "remove it", "the text has a NUL character")
		return nil
	}
	most := maxText
	if s.WriteOnly {
		most = maxValue
	}
	if len(n.text) > most {
		r.add(n.at, key, "shorten it", "the text has %d bytes, more than %d", len(n.text), most)
		return nil
	}
	if v, ok := s.Words[n.text]; ok {
		return v
	}
	switch s.Format {
	case "file-path":
		return r.path(key, n)
	case "program":
		return r.program(key, n, s)
	}
	f, ok := forms[s.Format]
	if !ok {
		return n.text
	}
	v, ok := f.read(n.text)
	if !ok {
		r.wrong(key, n, s)
		return nil
	}
	if v, ok := v.(int64); ok {
		least, _ := f.read(s.Least)
		most, _ := f.read(s.Most)
		if v < least.(int64) || v > most.(int64) {
			r.add(n.at, key, fmt.Sprintf("give %s to %s%s", s.Least, s.Most, s.orWords()), "%s is out of range", shown(n.text))
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
