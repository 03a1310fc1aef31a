package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/setting"
	"github.com/toolhost/toolhost/internal/test/require"
)

var update = flag.Bool("update", false, "write what is made of the Go types")

// The files that are made of the Go types are those that are here: make generate writes them.
func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{docs: map[string]string{}, defs: &ordered{}}
	for name, content := range map[string][]byte{
		"table.go": goTable(t), "../../../../host/plugin/defaults.go": goPluginDefaults(t),
		"schema.json": g.schema(t), "initial.yaml": g.initial(t), "../../../../docs/reference/configuration.md": g.reference(t),
	} {
		if *update {
			require.NoError(t, os.WriteFile(name, content, 0o600))
		} else if is, err := os.ReadFile(name); err != nil || !bytes.Equal(is, content) {
			t.Errorf("%s is not what the Go types say: run make generate (%v)", name, err)
		}
	}
}

// ordered is JSON with its members in their order.
type ordered []field

type field struct {
	name  string
	value any
}

func (o *ordered) add(name string, value any) {
	if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
		*o = append(*o, field{name, value})
	}
}

func (o ordered) has(name string) bool {
	return slices.ContainsFunc(o, func(m field) bool { return m.name == name })
}

func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		fmt.Fprintf(&b, "%q:", m.name)
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	return fmt.Appendf(nil, "{%s}", b.Bytes()), nil
}

// generator makes the files.
type generator struct {
	docs map[string]string // first paragraphs of comments, by PACKAGE.TYPE or PACKAGE.TYPE.FIELD
	read map[string]bool   // packages
	defs *ordered
}

const about = "Made by make generate of the Go types, to which it is to be changed. Three keywords are our own, and others ignore them. " +
	"format says how a text is converted for the host (file-path, program, go-duration, byte-size, rate); " +
	"formatMinimum and formatMaximum bound such a value; x-words maps words to what the host takes for them."

const whole = "What runs, how, and who may call it. Times are texts such as 30s, 10m or 1h30m. Sizes are texts such as 64MiB, " +
	"with the units B, KiB, MiB and GiB. Relative paths are relative to this file; ~ at the beginning of a path is the home directory, " +
	"and ${NAME} the value of a variable, which has to be set."

func (g *generator) schema(t *testing.T) []byte {
	top := g.object(t, described(), reflect.ValueOf(*Default()))
	out := ordered{}
	out.add("$schema", "https://json-schema.org/draft/2020-12/schema")
	out.add("$id", SchemaURL)
	out.add("$comment", about)
	out.add("title", "toolhost.yaml")
	out.add("description", whole)
	out = append(out, top...)
	out.add("$defs", g.defs)
	text := require.Must(out.MarshalJSON())(t)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, text, "", "  "))
	short := regexp.MustCompile(`\[\n\s+([^\[\]{}]{0,200}?)\n\s+\]`)
	return short.ReplaceAllFunc(append(b.Bytes(), '\n'), func(list []byte) []byte {
		return regexp.MustCompile(`\n\s+`).ReplaceAll(regexp.MustCompile(`^\[\n\s+|\n\s+\]$`).ReplaceAllFunc(list, bytes.TrimSpace), []byte(" "))
	})
}

// prototype is a value of a type that is in lists and mappings, with its defaults.
func prototype(of reflect.Type) reflect.Value {
	switch of {
	case reflect.TypeFor[Plugin]():
		return reflect.ValueOf(Default().Defaults)
	case reflect.TypeFor[Server]():
		return reflect.ValueOf(Default().NewServer())
	}
	return reflect.Zero(of)
}

// one returns the schema of a setting. Has is its value by default.
func (g *generator) one(t *testing.T, s *setting.Setting, has reflect.Value) (out ordered) {
	if has.Kind() == reflect.Pointer { // nil
		has = reflect.Zero(s.Go)
	}
	switch {
	case s.Names != nil:
		out.add("type", s.Types)
		out.add("maxProperties", s.MaxItems)
		out.add("propertyNames", g.text(s.Names, false))
		out.add("additionalProperties", g.one(t, s.Each, prototype(s.Each.Go)))
	case s.IsList():
		out = append(out, g.text(s, true)...)
		out.add("minItems", s.MinItems)
		out.add("maxItems", s.MaxItems)
		out.add("uniqueItems", s.Each.Enum != nil)
		out.add("items", g.one(t, s.Each, prototype(s.Each.Go)))
	case len(s.Members) > 0:
		return g.ref(t, s, has)
	default:
		out = append(out, g.text(s, true)...)
	}
	return out
}

// ref returns a reference to the definition of a struct, without what is not there.
func (g *generator) ref(t *testing.T, s *setting.Setting, has reflect.Value) (out ordered) {
	all := *setting.Of(s.Go)
	if s.Also != nil || s.Field.Tag.Get("is") != "" {
		all = *s
	}
	all.Types = s.Types
	name := strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(s.Go.Name(), "${1}_$2"))
	if pkg := s.Go.PkgPath(); !strings.HasSuffix(pkg, "/config") && name == "tls" {
		name = "fleet_tls"
	}
	if !g.defs.has(name) {
		def := ordered{}
		g.defs.add(name, &def) // here, before those that it refers to
		def.add("description", g.doc(t, s.Go, ""))
		def = append(def, g.object(t, &all, has)...)
	}
	to := ordered{}
	to.add("$ref", "#/$defs/"+name)
	not := ordered{}
	for _, m := range all.Members {
		if s.Member(m.Name) == nil {
			not = append(not, field{m.Name, false})
		}
	}
	if len(not) == 0 {
		return to
	}
	out.add("allOf", []ordered{to})
	out.add("properties", not)
	return out
}

func (g *generator) object(t *testing.T, s *setting.Setting, has reflect.Value) (out ordered) {
	out = append(out, g.text(s, true)...)
	if s.Also != nil {
		out.add("minProperties", 1)
		out.add("maxProperties", 1)
	}
	out = append(out, field{"additionalProperties", false})
	properties := ordered{}
	for _, m := range s.Members {
		value := has.FieldByIndex(index(t, has.Type(), m.Field))
		property := ordered{}
		property.add("description", g.doc(t, declared(s.Go, m.Field.Name), m.Field.Name))
		property = append(property, g.one(t, m, value)...)
		if d := g.defaultOf(t, m, value); len(d) > 0 {
			property.add("default", d)
		}
		property.add("examples", examples(m))
		properties.add(m.Name, property)
	}
	out.add("properties", properties)
	return out
}

// declared returns the type that has a field, which may be embedded in another.
func declared(of reflect.Type, field string) reflect.Type {
	f, _ := of.FieldByName(field)
	for _, i := range f.Index[:len(f.Index)-1] {
		of = of.Field(i).Type
	}
	return of
}

func index(t *testing.T, of reflect.Type, f reflect.StructField) []int {
	for _, one := range reflect.VisibleFields(of) {
		if one.Name == f.Name && one.Tag == f.Tag {
			return one.Index
		}
	}
	t.Fatalf("%s has no %s", of, f.Name)
	return nil
}

func (g *generator) defaultOf(t *testing.T, s *setting.Setting, has reflect.Value) json.RawMessage {
	tag := s.Field.Tag.Get("json")
	switch {
	case s.Names != nil || len(s.Members) > 0:
		return nil
	case s.Default == nil && (strings.Contains(tag, ",omit") || s.Go.Kind() == reflect.String || s.Go == reflect.TypeFor[json.RawMessage]()):
		return nil
	case !has.IsZero() || s.Default == nil:
		text := require.Must(json.Marshal(asWritten(s, must(json.Marshal(has.Interface())))))(t)
		return bytes.TrimPrefix(text, []byte("null"))
	}
	return s.Default
}

func examples(s *setting.Setting) (out []json.RawMessage) {
	text := s.Field.Tag.Get("example")
	if text == "" {
		return nil
	}
	for _, one := range strings.Split(text, " | ") {
		out = append(out, s.JSON(one))
	}
	return out
}

// text returns what the schema says of a setting itself.
func (g *generator) text(s *setting.Setting, typed bool) (out ordered) {
	out.add("title", s.Title)
	switch {
	case len(s.Types) == 1:
		out.add("type", s.Types[0])
	case typed:
		out.add("type", s.Types)
	}
	out.add("writeOnly", s.Secret)
	out.add("enum", s.Enum)
	var names []string
	for _, w := range s.Words {
		names = append(names, regexp.QuoteMeta(w.Name))
	}
	all := strings.Join(names, "|")
	switch {
	case all != "" && s.Pattern != "":
		out.add("pattern", "^("+all+"|"+strings.TrimSuffix(strings.TrimPrefix(s.Pattern, "^"), "$")+")$")
	case all != "" && (s.IsList() || isNumber(s)):
		out.add("pattern", "^("+all+")$")
	default:
		out.add("pattern", s.Pattern)
	}
	if s.Not != "" {
		not := ordered{}
		not.add("title", s.NotTitle)
		not.add("pattern", s.Not)
		out.add("not", not)
	}
	out.add("minLength", s.MinLength)
	out.add("maxLength", s.MaxLength)
	out.add("format", s.Form)
	if s.Maximum != "" && s.Form != "" {
		out.add("formatMinimum", s.Minimum)
		out.add("formatMaximum", s.Maximum)
	} else if s.Maximum != "" {
		out.add("minimum", json.RawMessage(s.Minimum))
		out.add("maximum", json.RawMessage(s.Maximum))
	}
	var meaning ordered
	for _, w := range s.Words {
		meaning.add(w.Name, w.Means)
	}
	out.add("x-words", meaning)
	if s.Example != "" {
		out.add("examples", []string{s.Example})
	}
	return out
}
