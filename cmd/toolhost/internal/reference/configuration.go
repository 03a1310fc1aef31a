package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

// setting is a part of the schema of toolhost.yaml.
type setting struct {
	Ref           string     `json:"$ref"`
	AllOf         []*setting `json:"allOf"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Type          kinds      `json:"type"`
	Enum          []string   `json:"enum"`
	Default       json.RawMessage
	Examples      []json.RawMessage
	Properties    members         `json:"properties"`
	Additional    json.RawMessage `json:"additionalProperties"`
	Items         *setting        `json:"items"`
	PropertyNames *struct{ Examples []string }
	Defs          map[string]*setting `json:"$defs"`

	not bool // it is not allowed here
}

// kinds are the types of JSON that a value may have.
type kinds []string

func (k *kinds) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		*k = make(kinds, 1)
		return json.Unmarshal(text, &(*k)[0])
	}
	return json.Unmarshal(text, (*[]string)(k))
}

// members are the properties of an object, in the order of the schema.
type members []member

type member struct {
	name string
	*setting
}

func (m *members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		s := &setting{}
		if string(value) == "false" { // the setting is not allowed here
			value, s.not = json.RawMessage("{}"), true
		}
		if err := json.Unmarshal(value, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*m = append(*m, member{name.(string), s})
	}
	return nil
}

// configuration describes the settings of toolhost.yaml, from its schema.
func configuration(string) (string, error) {
	var file setting
	if err := json.Unmarshal(config.Schema(), &file); err != nil {
		return "", err
	}
	r := &settings{defs: file.Defs, told: map[string]told{}}
	r.WriteString(generated("toolhost.yaml", "cmd/toolhost/internal/config/schema.json"))
	r.WriteString(file.Description + "\n\n" +
		"`toolhost config init` writes a file with every setting commented out, `config check` finds mistakes,\n" +
		"`config show` prints what is in force, and `config schema` prints the JSON Schema.\n" +
		"[Configure the host](../how-to/configure.md) says how the file is found and trusted.\n")
	r.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	var groups []member
	for _, m := range file.Properties {
		if s := r.follow(m.setting); len(s.Properties) > 0 || s.each() != nil || len(s.AllOf) > 0 {
			groups = append(groups, m)
			continue
		}
		r.row("", m.name, m.setting)
	}
	for _, m := range groups {
		r.group(m)
	}
	return r.String(), nil
}

// told is where members of a definition are listed, and which.
type told struct {
	section string
	members members
}

// settings writes the settings of a file.
type settings struct {
	strings.Builder
	defs map[string]*setting
	told map[string]told // what is listed already, by definition
}

// follow returns a setting with what it refers to.
func (r *settings) follow(s *setting) *setting {
	ref := s.Ref
	if ref == "" && len(s.AllOf) > 0 {
		ref = s.AllOf[0].Ref
	}
	if ref == "" {
		return s
	}
	out := *r.follow(r.defs[strings.TrimPrefix(ref, "#/$defs/")])
	out.Ref = ref
	if s.Description != "" {
		out.Description = s.Description
	}
	if s.Default != nil {
		out.Default = s.Default
	}
	if s.Examples != nil {
		out.Examples = s.Examples
	}
	for _, m := range s.Properties {
		if m.not {
			out.Properties = slices.DeleteFunc(slices.Clone(out.Properties), func(o member) bool { return o.name == m.name })
		}
	}
	return &out
}

// each is the schema of the values of an object with keys of the operator's choice; nil: it has none.
func (s *setting) each() *setting {
	var each setting
	if s.PropertyNames == nil || json.Unmarshal(s.Additional, &each) != nil {
		return nil
	}
	return &each
}

// group writes a section.
func (r *settings) group(m member) {
	s, prefix := r.follow(m.setting), m.name
	fmt.Fprintf(&r.Builder, "\n## %s\n\n%s\n", m.name, cell(s.Description))
	if each := s.each(); each != nil {
		s, prefix = r.follow(each), m.name+".NAME"
		fmt.Fprintf(&r.Builder, "%s\n", cell(s.Description))
	}
	rows := s.Properties
	if before, ok := r.told[s.Ref]; ok {
		rows = slices.DeleteFunc(slices.Clone(rows), func(m member) bool {
			return slices.ContainsFunc(before.members, func(o member) bool { return o.name == m.name })
		})
		fmt.Fprintf(&r.Builder, "\nThe settings are [those of %s](#%s), and:\n", before.section, before.section)
	} else {
		r.told[s.Ref] = told{m.name, rows}
	}
	r.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	r.rows(prefix+".", rows, m.name)
}

// rows writes the members of an object. Those of a definition that a section has listed are
// there.
func (r *settings) rows(prefix string, all members, section string) {
	for _, m := range all {
		s, key := r.follow(m.setting), prefix+m.name
		if inner, suffix := r.inner(s); inner != nil {
			r.row(prefix, m.name, m.setting)
			s, key = inner, key+suffix
		}
		if len(s.Properties) == 0 || slices.Contains(s.Type, "string") {
			r.row(prefix, m.name, m.setting)
			continue
		}
		at := r.told[s.Ref].section
		if at != "" {
			fmt.Fprintf(&r.Builder, "| `%s` | [as for %s](#%s) | | %s |\n", key, at, at, cell(s.Description))
			continue
		}
		if s.Ref != "" {
			r.told[s.Ref] = told{section, s.Properties}
		}
		fmt.Fprintf(&r.Builder, "| `%s` | a mapping | | %s |\n", key, cell(s.Description))
		r.rows(key+".", s.Properties, section)
	}
}

// inner returns what a list or a mapping from names has in it, if that is a mapping of settings;
// else nil.
func (r *settings) inner(s *setting) (inner *setting, suffix string) {
	inner, suffix = s.Items, "[]"
	if each := s.each(); each != nil {
		inner, suffix = each, ".NAME"
	}
	if inner == nil {
		return nil, ""
	}
	if inner = r.follow(inner); len(inner.Properties) == 0 || slices.Contains(inner.Type, "string") {
		return nil, ""
	}
	return inner, suffix
}

// row writes one setting.
func (r *settings) row(prefix, name string, of *setting) {
	s := r.follow(of)
	about, value := s.Description, ""
	if before, after, ok := strings.Cut(about, " Default: "); ok {
		about, value = before, strings.TrimSuffix(after, ".")
	}
	if s.Default != nil {
		value = "`" + strings.Trim(string(s.Default), `"`) + "`"
	}
	fmt.Fprintf(&r.Builder, "| `%s` | %s | %s | %s |\n", prefix+name, cell(r.kind(s)), cell(value), cell(about))
}

// kind says what a setting takes.
func (r *settings) kind(s *setting) string {
	var example string
	if len(s.Examples) > 0 {
		example = "`" + string(s.Examples[0]) + "`"
		if s.Examples[0][0] == '"' {
			example = strings.ReplaceAll(example, `"`, "")
		}
	}
	switch {
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case slices.Contains(s.Type, "boolean") && len(s.Type) == 1:
		return "`true`, `false`"
	case s.Title != "":
		return s.Title
	case slices.Contains(s.Type, "integer"):
		return "a number"
	case example != "":
		return "such as " + example
	}
	for i, k := range s.Type {
		if k == "null" {
			return strings.Join(slices.Delete(slices.Clone(s.Type), i, i+1), " or ")
		}
	}
	return strings.Join(s.Type, " or ")
}
