package setting

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Setting is what may stand at one place of a file.
type Setting struct {
	Kind
	Name  string              // in the mapping that it is in
	Field reflect.StructField // that holds it; none for what is in a list or mapping
	Go    reflect.Type        // what it is in Go, without a pointer
	Types []string            // of JSON, that the file may have here
	// Default is what it is if the file does not have it, as the file writes it. Nil: nothing.
	Default json.RawMessage

	Members []*Setting // of a mapping with known names, in the order of the fields
	Each    *Setting   // of the items of a list, or the values of a mapping of names
	Names   *Setting   // of such a mapping
}

// Word is a text that stands for a value.
type Word struct {
	Name  string
	Means json.RawMessage
}

const maxItems = 1000

// Of returns the setting that a type holds, such as a struct, by its tags, which make generate reads.
func Of(t reflect.Type) *Setting { return of(t, "") }

// of returns the setting of a type, in which texts are of a kind.
func of(t reflect.Type, is string) *Setting {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &Setting{Kind: kinds()[is], Go: t}
	named := typed(t)
	if named != "" {
		s.Kind = kinds()[named]
	}
	switch {
	case named != "":
		s.Types = []string{"string"}
	case t == reflect.TypeFor[json.RawMessage]():
		s.Types = []string{"object", "null"}
	case t.Kind() == reflect.Slice:
		s.Each, s.Types = of(t.Elem(), is), []string{"array", "null"}
		if s.Kind = (Kind{MaxItems: maxItems, Secret: s.Each.Secret}); s.Each.MaxItems > 0 {
			s.Title, s.MinItems, s.MaxItems, s.Each.Title = s.Each.Title, s.Each.MinItems, s.Each.MaxItems, ""
		}
		s.Each.Types = slices.DeleteFunc(s.Each.Types, func(t string) bool { return t == "null" })
	case t.Kind() == reflect.Struct && s.Also != nil:
		s.Types, s.Members = append([]string{"object"}, s.Also...), members(t, "")
	case t.Kind() == reflect.Struct:
		s.Kind, s.Types, s.Members = Kind{}, []string{"object", "null"}, members(t, is)
	case s.Form != "" || t.Kind() == reflect.String:
		s.Types = append([]string{"string"}, s.Also...)
	case t.Kind() == reflect.Bool:
		s.Types = []string{"boolean"}
	case t.Kind() == reflect.Float64:
		s.Types = []string{"number"}
	default:
		s.Types = []string{"integer"}
	}
	return s
}

// typed returns the kind of the texts of a type; empty: the tags say it.
func typed(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "time"
	case reflect.TypeFor[tool.RateLimit]():
		return "rate"
	case reflect.TypeFor[tool.Safety]():
		return "safety"
	}
	return ""
}

// members returns the settings that the fields of a struct hold.
func members(t reflect.Type, is string) (out []*Setting) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = append(out, without(members(f.Type, is), f.Tag)...)
		case name != "-" && f.IsExported():
			out = append(out, ofField(f, name, is))
		}
	}
	return out
}

func without(all []*Setting, tag reflect.StructTag) []*Setting {
	names := split(tag.Get("without"))
	return slices.DeleteFunc(all, func(s *Setting) bool { return slices.Contains(names, s.Name) })
}

// ofField returns the setting of a field, as its tags say.
func ofField(f reflect.StructField, name, is string) *Setting {
	tag := func(key string, to *string) bool {
		text, ok := f.Tag.Lookup(key)
		if ok {
			*to = text
		}
		return ok
	}
	var text string
	tag("is", &is)
	s := of(f.Type, is)
	if tag("key", &text) {
		s = &Setting{
			Kind: Kind{MaxItems: maxItems}, Go: f.Type, Types: []string{"object", "null"},
			Names: &Setting{Kind: kinds()[text]}, Each: of(f.Type.Elem(), is),
		}
		s.Each.Members = without(s.Each.Members, f.Tag)
	}
	s.Name, s.Field, s.Members = name, f, without(s.Members, f.Tag)
	if tag("enum", &text) {
		s.Enum = split(text)
	}
	tag("title", &s.Title)
	tag("minimum", &s.Minimum)
	tag("maximum", &s.Maximum)
	if tag("maxItems", &text) {
		s.MaxItems, _ = strconv.Atoi(text)
	}
	notNull := f.Type.Kind() == reflect.Pointer || s.MinItems > 0
	if tag("minItems", &text) {
		s.MinItems, _ = strconv.Atoi(text)
		notNull = true
	}
	if tag("words", &text) {
		notNull = true
		s.take(strings.Fields(text))
	}
	if notNull {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	}
	if len(s.Words) > 0 {
		absent, _ := json.Marshal(reflect.Zero(f.Type).Interface())
		if word, ok := s.Word(absent); ok {
			s.Default, _ = json.Marshal(word)
		}
	}
	if tag("default", &text) {
		s.Default = s.JSON(text)
	}
	return s
}

// take adds words, such as never=0. Without a value, a word is itself, or a list of itself.
func (s *Setting) take(words []string) {
	for _, one := range words {
		name, means, ok := strings.Cut(one, "=")
		switch {
		case !ok && s.Each != nil:
			means = `["` + name + `"]`
		case !ok:
			means = `"` + name + `"`
		case means == "":
			means = `""`
		}
		s.Words = append(slices.Clip(s.Words), Word{name, json.RawMessage(means)})
	}
	if !slices.Contains(s.Types, "string") {
		s.Types = append(s.Types, "string")
	}
	s.Title = worded(s.Title, s.Words)
}

// worded adds words to what a setting takes.
func worded(title string, words []Word) string {
	var names []string
	for _, w := range words {
		names = append(names, w.Name)
	}
	text := ", or " + names[0]
	if last := len(names) - 1; last > 0 {
		text = ", or one of the words " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	before, after, more := strings.Cut(title, ";")
	switch {
	case title == "" || strings.HasSuffix(title, text):
		return title
	case more:
		return before + text + ";" + after
	}
	return title + text
}

// JSON returns the JSON of a value that a tag has.
func (s *Setting) JSON(text string) json.RawMessage {
	if s.IsList() && !s.isWord(text) && !strings.HasPrefix(text, "[") {
		var items []string
		for _, one := range split(text) {
			items = append(items, string(s.Each.JSON(one)))
		}
		return json.RawMessage("[" + strings.Join(items, ", ") + "]")
	}
	if json.Valid([]byte(text)) && !slices.Equal(s.Types, []string{"string"}) {
		return json.RawMessage(text)
	}
	out, _ := json.Marshal(text)
	return out
}

func (s *Setting) isWord(text string) bool {
	return slices.ContainsFunc(s.Words, func(w Word) bool { return w.Name == text })
}

// Word returns the word that stands for a value in JSON.
func (s *Setting) Word(value json.RawMessage) (string, bool) {
	i := slices.IndexFunc(s.Words, func(w Word) bool { return bytes.Equal(w.Means, value) })
	if i < 0 {
		return "", false
	}
	return s.Words[i].Name, true
}

// Value returns what the program takes for a text, apart from paths; false: the text is not of the form.
func (s *Setting) Value(text string) (v any, ok bool) {
	for _, w := range s.Words {
		if w.Name == text {
			return w.Means, true
		}
	}
	if form, ok := Forms[s.Form]; ok {
		return form.Read(text)
	}
	return text, true
}

// Member returns the setting of a name in a mapping; nil: the name is not known.
func (s *Setting) Member(name string) *Setting {
	for _, m := range s.Members {
		if m.Name == name {
			return m
		}
	}
	return s.Each
}

// IsMapping reports whether there are settings beneath it, by name.
func (s *Setting) IsMapping() bool { return len(s.Members) > 0 || s.Names != nil }

// IsList reports whether it has items.
func (s *Setting) IsList() bool { return s.Each != nil && s.Names == nil }

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
