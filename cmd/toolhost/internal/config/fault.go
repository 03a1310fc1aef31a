package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/setting"
	"github.com/toolhost/toolhost/internal/suggest"
)

// unknown notes a key that is not known.
func (r *reader) unknown(at string, key *node, s *setting.Setting) {
	names := keys(s)
	hint := "known here: " + strings.Join(names, ", ")
	if s == root() && root().Member("defaults").Member(key.text) != nil {
		hint = "put it under defaults, for all plugins, or under plugins and the name of one"
		r.addKey(key, at, hint, "unknown key `%s`", shown(key.text))
		return
	}
	if other := otherNames()[strings.ToLower(key.text)]; slices.Contains(names, other) {
		hint = "did you mean `" + other + "`?"
	}
	r.addKey(key, at, oneOf(key.text, names, hint), "unknown key `%s`", shown(key.text))
}

// wrong notes that a value is not what the setting takes.
func (r *reader) wrong(key string, n *node, s *setting.Setting) {
	what, give := short(s), "give "+want(s)
	switch {
	case n.kind == null:
		r.add(n.at, key, give+", or remove the key", "it has no value")
	case n.kind == number && s.Form != "" && s.Maximum != "":
		r.add(n.at, key, give, "%s has no unit", shown(n.text))
	case !takes(s, n.kind):
		r.add(n.at, key, give, "expected %s, got %s", what, n.kind)
	case n.kind == number && !plainNumber(n.text):
		r.add(n.at, key, give, "%s is not a plain number", shown(n.text))
	case n.kind == number:
		r.add(n.at, key, give, "%s is out of range", shown(n.text))
	case n.kind == list && len(n.items) == 0:
		r.add(n.at, key, give, "the list is empty")
	case n.kind == list:
		r.add(n.at, key, "is it the right file?", "the list has %d items, more than %d", len(n.items), s.MaxItems)
	case n.kind == mapping && s.Names != nil:
		r.add(n.at, key, "is it the right file?", "there are %d names, more than %d", len(n.entries), s.MaxItems)
	case n.kind == mapping:
		r.add(n.at, key, give, "exactly one of %s has to be there", strings.Join(keys(s), " and "))
	case s.Secret:
		r.add(n.at, key, give, "this is not %s", what)
	case s.Enum != nil:
		r.add(n.at, key, oneOf(n.text, s.Enum, "use "+strings.Join(s.Enum, ", ")), "unknown word `%s`", shown(n.text))
	case n.text == "":
		r.add(n.at, key, give+", or remove the key", "the %s is empty", strings.TrimPrefix(what, "a "))
	default:
		r.add(n.at, key, give, "`%s` is not %s", shown(n.text), what)
	}
}

// want says what a setting takes.
func want(s *setting.Setting) string {
	switch {
	case s.Title != "":
		return s.Title
	case s.Enum != nil:
		return "one of " + strings.Join(s.Enum, ", ")
	case len(s.Members) > 0:
		return "a mapping of settings"
	case s.IsMapping():
		return "a mapping of names"
	case s.Maximum != "":
		return fmt.Sprintf("a whole number from %s to %s%s", s.Minimum, s.Maximum, orWords(s))
	case s.IsList():
		return "a list"
	case slices.Contains(s.Types, "boolean"):
		return "true or false"
	}
	return "text"
}

// orWords names the words that a setting takes in place of a value.
func orWords(s *setting.Setting) (text string) {
	var names []string
	for _, w := range s.Words {
		names = append(names, ", or "+w.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "")
}

// short is want without its details.
func short(s *setting.Setting) string {
	if s.Title == "" {
		return want(s)
	}
	what, _, _ := strings.Cut(s.Title, " such as")
	what, _, _ = strings.Cut(what, ", ")
	what, _, _ = strings.Cut(what, ": ")
	return what
}

// takes reports whether a setting may have values of a kind.
func takes(s *setting.Setting, k kind) bool {
	return slices.ContainsFunc(s.Types, func(name string) bool {
		switch name {
		case "null":
			return k == null
		case "boolean":
			return k == boolean
		case "string":
			return k == text
		case "array":
			return k == list
		case "object":
			return k == mapping
		}
		return k == number
	})
}

// isNumber reports whether the only texts that a setting takes are words.
func isNumber(s *setting.Setting) bool {
	return s.Also == nil && slices.ContainsFunc(s.Types, func(t string) bool { return t == "integer" || t == "number" })
}

// keys returns the known keys of a mapping, sorted.
func keys(s *setting.Setting) []string {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// otherNames are what people call settings elsewhere.
func otherNames() map[string]string {
	return map[string]string{
		"args": "arguments", "env": "environment", "idle_timeout": "idle_time", "concurrency": "running",
		"disabled": "disable", "name": "rename", "rate_limit": "rate", "max_retries": "retries", "capability": "permission",
		"directories": "plugin_dirs", "plugin_dir": "plugin_dirs", "workspace": "root", "cache": "cache_dir",
		"capabilities": "grants", "level": "required", "mode": "level", "network": "net", "hosts": "net", "programs": "exec",
		"processes": "pids", "cpus": "cpu", "processors": "cpu", "descriptors": "files", "nofile": "files",
	}
}

// oneOf returns which of some words may have been meant, or else the hint.
func oneOf(word string, words []string, hint string) string {
	if near := suggest.Nearest(word, words, 1); len(near) > 0 {
		return "did you mean `" + near[0] + "`?"
	}
	return hint
}
