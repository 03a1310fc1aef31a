package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// environment adds to the variables that are there already, those of the defaults.
func environment(to *Environment) field {
	return func(d *decoder, key string, n *node) {
		env := *to
		each(variableName, func(name string) field {
			return func(d *decoder, key string, n *node) {
				if v, ok := d.variable(key, name, n); ok {
					env = env.set(v)
				}
			}
		})(d, key, n)
		*to = env
	}
}

// variable reads a value, as it is written, or a reference. Nothing here puts the
// value into a problem.
func (d *decoder) variable(key, name string, n *node) (Variable, bool) {
	v := Variable{Name: name}
	switch n.kind {
	case text, number, boolean:
		if len(n.text) > maxValue || strings.ContainsRune(n.text, 0) {
			d.add(n.at, key, "", "the value has a NUL character or more than %d bytes", maxValue)
			return v, false
		}
		v.value = &n.text
		return v, true
	case null:
		d.add(n.at, key, `write "" for an empty one`, "it has no value")
		return v, false
	case list:
		d.add(n.at, key, "give text, {from_env: NAME} or {from_file: PATH}", "a list is no value of a variable")
		return v, false
	}
	before := len(d.problems) + d.omitted
	fields{
		"from_env": scalar("a variable's name", func(d *decoder, key string, n *node) {
			if !spells(n.text, 128, "_") {
				d.add(n.at, key, "use letters, digits and _", "this is no name of a variable")
				return
			}
			v.FromEnv = n.text
		}),
		"from_file": filePath(&v.FromFile),
	}.decode(d, key, n)
	if len(d.problems)+d.omitted > before {
		return v, false
	}
	if (v.FromEnv == "") == (v.FromFile == "") {
		d.add(n.at, key, "", "exactly one of from_env and from_file has to be there")
		return v, false
	}
	return v, true
}

// pluginConfig keeps a mapping as JSON.
func pluginConfig(to *json.RawMessage) field {
	return func(d *decoder, key string, n *node) {
		switch n.kind {
		case null:
			*to = nil
		case mapping:
			before := len(d.problems) + d.omitted
			d.checkJSON(key, n)
			if len(d.problems)+d.omitted == before {
				*to = n.json()
			}
		default:
			d.wrong(key, n, "a mapping, which the plugin gets as a JSON object")
		}
	}
}

// checkJSON notes what JSON cannot say.
func (d *decoder) checkJSON(key string, n *node) {
	d.places[key] = n.at
	if n.kind == number && !plainNumber(n.text) {
		d.add(n.at, key, "write a plain decimal number, or quote it if it is meant to be text", "programs read %s differently", shown(n.text))
	}
	for _, e := range n.entries {
		d.checkJSON(below(key, e.key.text), e.value)
	}
	for _, item := range n.items {
		d.checkJSON(key, item)
	}
}

// json is a tree as JSON, its keys sorted, so that the order of a file's lines makes
// no difference. A number that JSON cannot say is text.
func (n *node) json() json.RawMessage {
	var b bytes.Buffer
	n.appendJSON(&b)
	return b.Bytes()
}

func (n *node) appendJSON(b *bytes.Buffer) {
	switch {
	case n.kind == null:
		b.WriteString("null")
	case n.kind == boolean, n.kind == number && plainNumber(n.text):
		b.WriteString(n.text)
	case n.kind == list:
		for i, item := range n.items {
			b.WriteString(opening("[", i))
			item.appendJSON(b)
		}
		b.WriteString(closing("[]", len(n.items)))
	case n.kind == mapping:
		sorted := slices.SortedFunc(slices.Values(n.entries), func(a, b entry) int { return strings.Compare(a.key.text, b.key.text) })
		for i, e := range sorted {
			b.WriteString(opening("{", i))
			b.Write(quoteJSON(e.key.text))
			b.WriteByte(':')
			e.value.appendJSON(b)
		}
		b.WriteString(closing("{}", len(n.entries)))
	default:
		b.Write(quoteJSON(n.text))
	}
}

// opening is what stands before the member of that index.
func opening(bracket string, index int) string {
	if index == 0 {
		return bracket
	}
	return ","
}

// closing is what stands behind so many members.
func closing(brackets string, members int) string {
	if members == 0 {
		return brackets
	}
	return brackets[1:]
}

func quoteJSON(s string) []byte {
	b, _ := json.Marshal(s) // cannot fail for a string
	return b
}
