package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/suggest"
)

// reader makes of a tree the JSON that the host's types decode, and notes all problems.
type reader struct {
	*findings
	places map[string]place // of the settings that are there
	faulty map[*node]bool   // values and keys for which a problem was noted
}

// below is the path of a key in a mapping.
func below(parent, key string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if key == "" || strings.Trim(key, plain) != "" {
		key = strconv.Quote(shown(key))
	}
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func item(parent string, index int) string { return parent + "[" + strconv.Itoa(index) + "]" }

// judge notes what the schema finds wrong.
func (r *reader) judge(tree *node) {
	err := judge().Check(context.Background(), tree.json())
	var found *schema.Violation
	switch {
	case errors.As(err, &found):
		for _, f := range found.Faults {
			r.fault(tree, f)
		}
		r.omitted += found.Omitted
	case err != nil:
		r.add(place{1, 1}, "", "is it the right file?", "%v", err)
	}
}

// fault notes what the schema finds wrong with one value.
func (r *reader) fault(n *node, f schema.Fault) {
	s, key := root(), ""
	for _, step := range f.Path {
		if i, err := strconv.Atoi(step); err == nil && n.kind == list {
			n, s, key = n.items[i], s.each, item(key, i)
			continue
		}
		n, s, key = n.entry(step).value, s.member(step), below(key, step)
	}
	if f.Member == "" {
		r.wrong(key, n, s)
		return
	}
	name := n.entry(f.Member).key
	r.faulty[name] = true
	key = below(key, f.Member)
	switch {
	case !f.Name:
		r.unknown(key, name, s)
	case f.Keyword == "" && s.names.not != nil:
		r.addKey(name, key, s.names.not.Title, "this name cannot be used here")
	default:
		r.addKey(name, key, s.names.Title, "this name cannot be used here")
	}
}

// wrong notes that a value is not what the setting takes.
func (r *reader) wrong(key string, n *node, s *setting) {
	if r.faulty[n] {
		return
	}
	r.faulty[n] = true
	what, give := s.short(), "give "+s.want()
	switch {
	case n.kind == null:
		r.add(n.at, key, give+", or remove the key", "it has no value")
	case n.kind == number && forms[s.Format].read != nil:
		r.add(n.at, key, give, "%s has no unit", shown(n.text))
	case !s.takes(n.kind):
		r.add(n.at, key, give, "expected %s, got %s", what, n.kind)
	case n.kind == number && !plainNumber(n.text):
		r.add(n.at, key, give, "%s is not a plain number", shown(n.text))
	case n.kind == number:
		r.add(n.at, key, give, "%s is out of range", shown(n.text))
	case n.kind == list && len(n.items) == 0:
		r.add(n.at, key, give, "the list is empty")
	case n.kind == list:
		r.add(n.at, key, "is it the right file?", "the list has %d items, more than %d", len(n.items), maxItems)
	case n.kind == mapping && s.names != nil:
		r.add(n.at, key, "is it the right file?", "there are %d names, more than %d", len(n.entries), maxItems)
	case n.kind == mapping:
		r.add(n.at, key, give, "exactly one of %s has to be there", strings.Join(s.keys(), " and "))
	case len(n.text) > maxText:
		r.add(n.at, key, "shorten it", "the text has %d bytes", len(n.text))
	case s.WriteOnly:
		r.add(n.at, key, give, "this is not %s", what)
	case s.Enum != nil:
		r.add(n.at, key, oneOf(n.text, s.Enum, "use "+strings.Join(s.Enum, ", ")), "unknown word `%s`", shown(n.text))
	case n.text == "":
		r.add(n.at, key, give+", or remove the key", "the %s is empty", strings.TrimPrefix(what, "a "))
	default:
		r.add(n.at, key, give, "`%s` is not %s", shown(n.text), what)
	}
}

// Bounds that the schema also has.
const (
	maxItems = 1000
	maxText  = 32 << 10 // bytes
)

// want says what a setting takes.
func (s *setting) want() string {
	switch {
	case s.Title != "":
		return s.Title
	case s.Enum != nil:
		return "one of " + strings.Join(s.Enum, ", ")
	case len(s.members) > 0:
		return "a mapping of settings"
	case s.isMapping():
		return "a mapping of names"
	case s.Minimum != nil:
		text := fmt.Sprintf("a whole number from %d to %d", *s.Minimum, *s.Maximum)
		for word := range s.Words {
			text += ", or " + word
		}
		return text
	case slices.Contains(s.Type, "array"):
		return "a list"
	case slices.Contains(s.Type, "boolean"):
		return "true or false"
	}
	return "text"
}

// short is want without its details.
func (s *setting) short() string {
	if s.Title == "" {
		return s.want()
	}
	what, _, _ := strings.Cut(s.Title, " such as")
	what, _, _ = strings.Cut(what, ", ")
	return what
}

// takes reports whether a setting may have values of a kind.
func (s *setting) takes(k kind) bool {
	if s.Enum != nil {
		return k == text
	}
	names := map[kind][]string{
		null: {"null"}, boolean: {"boolean"}, number: {"number", "integer"}, text: {"string"}, list: {"array"}, mapping: {"object"},
	}
	return slices.ContainsFunc(names[k], func(name string) bool { return slices.Contains(s.Type, name) })
}

// keys returns the known keys of a mapping, sorted.
func (s *setting) keys() []string {
	var names []string
	for _, m := range s.members {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

// otherNames are what people call settings elsewhere.
var otherNames = map[string]string{
	"args": "arguments", "env": "environment", "idle_timeout": "idle_time", "disabled": "disable", "rate_limit": "rate",
	"max_retries": "retries", "name": "rename", "directories": "plugin_dirs", "plugin_dir": "plugin_dirs", "capability": "permission",
	"capabilities": "grants", "workspace": "root", "cache": "cache_dir", "concurrency": "running", "level": "required",
}

// unknown notes a key that is not known, and what may have been meant.
func (r *reader) unknown(at string, key *node, s *setting) {
	names := s.keys()
	hint := "known here: " + strings.Join(names, ", ")
	if other := otherNames[strings.ToLower(key.text)]; slices.Contains(names, other) {
		hint = "did you mean `" + other + "`?"
	}
	r.addKey(key, at, oneOf(key.text, names, hint), "unknown key `%s`", shown(key.text))
}

// oneOf returns which of some words may have been meant, or else the hint.
func oneOf(word string, words []string, hint string) string {
	if near := suggest.Nearest(word, words, 1); len(near) > 0 {
		return "did you mean `" + near[0] + "`?"
	}
	return hint
}

// mapping reads a mapping with all that is right in it. Nothing, as where all beneath the
// key is commented out, is an empty one.
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

// value reads a value; nil: it says nothing, or is wrong.
func (r *reader) value(key string, n *node, s *setting) any {
	switch {
	case r.faulty[n]:
		return nil
	case s.isMapping() && (n.kind == mapping || n.kind == null):
		return r.mapping(key, n, s)
	case n.kind == mapping:
		return r.freeForm(key, n)
	case n.kind == list:
		var items []any
		for i, one := range n.items {
			at := item(key, i)
			r.places[at] = one.at
			items = append(items, r.value(at, one, s.each))
		}
		return items
	case n.kind == null:
		return nil
	case !s.takes(n.kind), s.Minimum != nil && n.kind == number && !wholeNumber(n.text):
		r.wrong(key, n, s) // such as 0x10, which is text for the schema, or 1.0
		return nil
	case s.WriteOnly:
		return r.secret(key, n)
	case n.kind == text:
		return r.text(key, n, s)
	}
	return json.RawMessage(n.text)
}

func wholeNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// text reads a text as what the host takes for it.
func (r *reader) text(key string, n *node, s *setting) any {
	if strings.ContainsRune(n.text, 0) {
		r.add(n.at, key, "remove it", "the text has a NUL character")
		return nil
	}
	if v, ok := s.Words[n.text]; ok {
		return v
	}
	switch f := forms[s.Format]; {
	case s.Format == "file-path":
		return r.path(key, n)
	case s.Format == "rate":
		if rate, ok := readRate(n.text); ok {
			return rate
		}
		r.wrong(key, n, s)
		return nil
	case f.read != nil:
		v, ok := f.read(n.text)
		least, _ := f.read(s.Least)
		most, _ := f.read(s.Most)
		switch {
		case !ok:
			r.wrong(key, n, s)
			return nil
		case v < least || v > most:
			hint := fmt.Sprintf("give %s to %s", f.write(least), f.write(most))
			for word := range s.Words {
				hint += ", or " + word
			}
			r.add(n.at, key, hint, "%s is out of range", shown(n.text))
			return nil
		}
		return v
	}
	return n.text
}

// path makes a path absolute.
func (r *reader) path(key string, n *node) any {
	switch path := n.text; {
	case strings.TrimSpace(path) == "":
		r.add(n.at, key, "give a path, or remove the key", "the path is empty")
		return nil
	case path == "~" || strings.HasPrefix(path, "~/"):
		r.add(n.at, key, "write the path in full", "~ is not expanded")
		return nil
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	default:
		return filepath.Join(r.src.dir, path)
	}
}

// secret reads the value of a variable as it is written.
func (r *reader) secret(key string, n *node) any {
	if len(n.text) > maxValue || strings.ContainsRune(n.text, 0) {
		r.add(n.at, key, "", "the value has a NUL character or more than %d bytes", maxValue)
		return nil
	}
	return n.text
}

// freeForm reads a mapping that has no schema here.
func (r *reader) freeForm(key string, n *node) any {
	before := len(r.problems) + r.omitted
	r.checkJSON(key, n)
	if len(r.problems)+r.omitted > before {
		return nil
	}
	return n.json()
}

// checkJSON notes numbers that JSON cannot say.
func (r *reader) checkJSON(key string, n *node) {
	r.places[key] = n.at
	if n.kind == number && !plainNumber(n.text) {
		r.add(n.at, key, "write a plain decimal number, or quote it if it is meant to be text", "programs read %s differently", shown(n.text))
	}
	for _, e := range n.entries {
		r.checkJSON(below(key, e.key.text), e.value)
	}
	for _, one := range n.items {
		r.checkJSON(key, one)
	}
}

// json returns a tree as JSON. Its keys are sorted, so that the order of a file's lines
// makes no difference. A number that JSON cannot say is text.
func (n *node) json() json.RawMessage { return must(json.Marshal(n.plain())) }

func (n *node) plain() any {
	switch {
	case n.kind == null:
		return nil
	case n.kind == boolean, n.kind == number && plainNumber(n.text):
		return json.RawMessage(n.text)
	case n.kind == list:
		out := make([]any, len(n.items))
		for i, one := range n.items {
			out[i] = one.plain()
		}
		return out
	case n.kind == mapping:
		out := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			out[e.key.text] = e.value.plain()
		}
		return out
	}
	return n.text
}
