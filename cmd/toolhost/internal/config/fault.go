package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/suggest"
)

// judge notes what the schema finds wrong.
func (r *reader) judge(tree *node) {
	r.emptyKeys("", tree, root())
	err := fileSchema().Check(context.Background(), tree.json())
	if err == nil {
		return
	}
	var found *schema.Violation
	if errors.As(err, &found) {
		for _, f := range found.Faults {
			r.note(tree, f)
		}
		r.omitted += found.Omitted
	}
	if len(r.problems) == 0 {
		r.add(place{1, 1}, "", "is it the right file?", "the file does not fit its schema")
	}
}

// emptyKeys notes and removes empty keys, which the judge leaves out of its paths.
func (r *reader) emptyKeys(key string, n *node, s *setting) {
	n.entries = slices.DeleteFunc(n.entries, func(e entry) bool {
		at := below(key, e.key.text)
		if e.key.text == "" && s.isMapping() {
			r.badKey(at, e.key, s)
			return true
		}
		if child := s.member(e.key.text); child != nil {
			r.emptyKeys(at, e.value, child)
		}
		return false
	})
}

// note notes what the schema finds wrong with one value.
func (r *reader) note(n *node, f schema.Fault) {
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
	if f.Name && f.Keyword == "" && s.names.not != nil {
		s = &setting{names: s.names.not}
	}
	r.badKey(below(key, f.Member), name, s)
}

// badKey notes a key that is unknown, or is not a name that the mapping takes.
func (r *reader) badKey(at string, key *node, s *setting) {
	r.faulty[key] = true
	if s.names != nil {
		r.addKey(key, at, s.names.Title, "this name cannot be used here")
		return
	}
	names := s.keys()
	hint := "known here: " + strings.Join(names, ", ")
	if s == root() && root().member("defaults").member(key.text) != nil {
		hint = "put it under defaults, for all plugins, or under plugins and the name of one"
		r.addKey(key, at, hint, "unknown key `%s`", shown(key.text))
		return
	}
	if other := otherNames[strings.ToLower(key.text)]; slices.Contains(names, other) {
		hint = "did you mean `" + other + "`?"
	}
	r.addKey(key, at, oneOf(key.text, names, hint), "unknown key `%s`", shown(key.text))
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
	case n.kind == number && s.Least != "":
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

// maxItems bounds lists and mappings from names, as the schema says.
const maxItems = 1000

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
	case s.Minimum != "":
		return fmt.Sprintf("a whole number from %s to %s%s", s.Minimum, s.Maximum, s.orWords())
	case slices.Contains(s.Type, "array"):
		return "a list"
	case slices.Contains(s.Type, "boolean"):
		return "true or false"
	}
	return "text"
}

// orWords names the words that a setting takes in place of a value.
func (s *setting) orWords() (text string) {
	for _, word := range slices.Sorted(maps.Keys(s.Words)) {
		text += ", or " + word
	}
	return text
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
		null: {"null"}, boolean: {"boolean"}, number: {"number", "integer"},
		text: {"string"}, list: {"array"}, mapping: {"object"},
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
	"args": "arguments", "env": "environment", "idle_timeout": "idle_time", "concurrency": "running",
	"disabled": "disable", "name": "rename", "rate_limit": "rate", "max_retries": "retries", "capability": "permission",
	"directories": "plugin_dirs", "plugin_dir": "plugin_dirs", "workspace": "root", "cache": "cache_dir",
	"capabilities": "grants", "level": "required", "mode": "level", "network": "net", "hosts": "net", "programs": "exec",
	"processes": "pids", "cpus": "cpu", "processors": "cpu", "descriptors": "files", "nofile": "files",
}

// oneOf returns which of some words may have been meant, or else the hint.
func oneOf(word string, words []string, hint string) string {
	if near := suggest.Nearest(word, words, 1); len(near) > 0 {
		return "did you mean `" + near[0] + "`?"
	}
	return hint
}
