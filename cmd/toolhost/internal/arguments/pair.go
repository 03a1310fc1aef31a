// Package arguments makes the arguments of a call from single ones on the command line, by
// the schema of the tool. Begin with [Parse].
//
// A name is that of an argument, or leads into one: with dots between them, o.a is the
// member a of the argument o. A value is text if the schema takes a string there, else JSON.
// An argument that is a list may be given several times, once for each element; a value that
// is a JSON list is the whole list. What can be read in two ways is an error.
package arguments

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Pairs are single arguments, in the order in which they were given.
type Pairs []pair

type pair struct{ name, value string }

// Parse parses words of the form name=value.
//
// # Errors
//
// [*exit.Error] for a word of another form, or that is not UTF-8.
func Parse(words []string) (Pairs, error) {
	var out Pairs
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !utf8.ValidString(w):
			return nil, exit.Usage(fmt.Sprintf("--arg %q is not UTF-8", output.Shorten(w, 200)),
				"arguments are text: convert it, or pass bytes in the form that the tool takes, such as base64")
		case !ok || name == "":
			return nil, exit.Usage(fmt.Sprintf("--arg %q is not of the form name=value", w), "write --arg path=README.md")
		}
		out = append(out, pair{name, value})
	}
	return out, nil
}

// Over sets the pairs in the object in text, which may be empty. A text that is not an object
// stays as it is: the host refuses it.
//
// # Errors
//
// [*exit.Error] for what the schema does not decide.
func (p Pairs) Over(text []byte, schema tool.Schema) (json.RawMessage, error) {
	if len(p) == 0 {
		return text, nil
	}
	object := map[string]json.RawMessage{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &object); err != nil || object == nil {
			return text, nil //nolint:nilerr // the host says what is wrong
		}
	}
	settings, err := p.settings(shapeOf(schema))
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		value, err := s.json()
		if err == nil {
			err = set(object, s.path, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(object)
}

// setting is a place in the arguments and all values that were given for it.
type setting struct {
	path   []string
	shape  shape
	values []string
}

func (s setting) name() string { return strings.Join(s.path, ".") }

// settings finds the places of the pairs.
func (p Pairs) settings(root shape) ([]*setting, error) {
	var out []*setting
	for _, one := range p {
		ways := root.readings(one.name)
		if len(ways) > 1 {
			return nil, exit.Usage(fmt.Sprintf("--arg %s can be read in %d ways: %s", one.name, len(ways), showWays(ways)), "write the arguments as JSON")
		}
		found := ways[0]
		i := slices.IndexFunc(out, func(s *setting) bool { return slices.Equal(s.path, found.path) })
		if i >= 0 {
			out[i].values = append(out[i].values, one.value)
			continue
		}
		for _, s := range out {
			if n := min(len(s.path), len(found.path)); slices.Equal(s.path[:n], found.path[:n]) {
				return nil, exit.Usage(fmt.Sprintf("--arg %s and --arg %s set the same thing", s.name(), one.name), "leave one out")
			}
		}
		found.values = []string{one.value}
		out = append(out, &found)
	}
	return out, nil
}

func showWays(ways []setting) string {
	texts := make([]string, len(ways))
	for i, w := range ways {
		text, _ := json.Marshal(w.path)
		texts[i] = string(text)
	}
	return strings.Join(texts, ", ")
}

// readings returns the places that a name may mean, at least one. Names that the schema has
// come before those that it merely allows.
func (s shape) readings(name string) []setting {
	var out []setting
	if part, ok := s.properties[name]; ok {
		out = append(out, setting{path: []string{name}, shape: s.sub(part)})
	}
	for i, c := range name {
		if c != '.' || i == 0 || i == len(name)-1 {
			continue
		}
		if part, ok := s.properties[name[:i]]; ok && s.sub(part).mayBeObject() {
			out = append(out, below(name[:i], s.sub(part).readings(name[i+1:]))...)
		}
	}
	if len(out) > 0 {
		return out
	}
	other := s.sub(s.other)
	out = []setting{{path: []string{name}, shape: other}}
	head, rest, dotted := strings.Cut(name, ".")
	if dotted && head != "" && rest != "" && !s.closed && len(s.types) > 0 && other.mayBeObject() {
		inner := below(head, other.readings(rest))
		if len(other.types) == 1 { // then a text is not a value of the whole name
			out = nil
		}
		out = append(out, inner...)
	}
	return out
}

func below(head string, all []setting) []setting {
	for i := range all {
		all[i].path = append([]string{head}, all[i].path...)
	}
	return all
}

// json returns what was given as JSON.
func (s setting) json() (json.RawMessage, error) {
	list := s.shape.takes("array")
	items := s.shape.sub(s.shape.items)
	const asJSON = "write the list as JSON, such as --arg 'names=[\"a\",\"b\"]'"
	if len(s.values) == 1 {
		text := s.values[0]
		switch whole := isList(text); {
		case !list || s.shape.takes("string") || whole, text == "null" && s.shape.takes("null"), text == "":
			return s.shape.value(text), nil
		case strings.HasPrefix(text, "["):
			return nil, exit.Usage(fmt.Sprintf("--arg %s is a list, and %s begins as one and is not JSON", s.name(), output.Shorten(text, 200)), asJSON)
		}
		return json.Marshal([]json.RawMessage{items.value(text)})
	}
	switch {
	case len(s.shape.types) == 0:
		return nil, exit.Usage(fmt.Sprintf("--arg %s is given twice, and the tool does not say that it is a list", s.name()), asJSON)
	case !list:
		return nil, exit.Usage(fmt.Sprintf("--arg %s is given twice, and is not a list", s.name()), "leave one out")
	}
	elements := make([]json.RawMessage, len(s.values))
	for i, text := range s.values {
		if isList(text) && !items.takes("array") {
			return nil, exit.Usage(fmt.Sprintf("--arg %s is given as a whole list and again", s.name()),
				"give the whole list once, or each element")
		}
		elements[i] = items.value(text)
	}
	return json.Marshal(elements)
}

func isList(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "[") && json.Valid([]byte(text))
}

// value returns a value of the command line as JSON: text if the schema takes it, or does not
// say. A value that does not fit becomes text too, so that the host reports it.
func (s shape) value(text string) json.RawMessage {
	if len(s.types) > 0 && !s.takes("string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // strings can always be encoded
	return quoted
}

// set sets a value in an object. Objects on the way keep their other members.
func set(object map[string]json.RawMessage, path []string, value json.RawMessage) error {
	if len(path) == 1 {
		object[path[0]] = value
		return nil
	}
	inner := map[string]json.RawMessage{}
	if before := object[path[0]]; before != nil {
		if err := json.Unmarshal(before, &inner); err != nil || inner == nil {
			return exit.Usage(fmt.Sprintf("--arg %s leads into an argument that the JSON gives as another value than an object",
				strings.Join(path, ".")), "leave one out")
		}
	}
	if err := set(inner, path[1:], value); err != nil {
		return err
	}
	text, err := json.Marshal(inner)
	object[path[0]] = text
	return err
}
