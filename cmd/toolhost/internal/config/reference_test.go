package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/setting"
)

// A pageWriter writes the page of the reference.
type pageWriter struct {
	*generator
	*testing.T
	bytes.Buffer
	told map[reflect.Type]string // the sections that have the settings of a type
	seen map[reflect.Type][]*setting.Setting
	said map[string]string // the keys that have a meaning first
}

const page = `<!-- Made by make generate from the Go types of toolhost.yaml. -->

# toolhost.yaml

` + whole + ` Rates are calls, a slash and a period of up to 24h, such as 10/1m. In names of tools, plugins and places, * stands for any characters.

` + "`toolhost config init` writes a file with every setting commented out, `config check` finds mistakes,\n" +
	"`config` prints what is in force, `config explain KEY` what a key means, and `config explain --json` the JSON Schema.\n" +
	"[Configure the host](../how-to/configure.md) says how the file is found and trusted.\n\n"

func (g *generator) reference(t *testing.T) []byte {
	r := &pageWriter{
		generator: g, T: t, told: map[reflect.Type]string{}, seen: map[reflect.Type][]*setting.Setting{}, said: map[string]string{},
	}
	r.WriteString(page)
	has := reflect.ValueOf(*Default())
	for _, m := range described().Members {
		if !m.IsMapping() {
			r.row("", described().Go, m, has)
		}
	}
	for _, m := range described().Members {
		if m.IsMapping() {
			r.section(m, has.FieldByIndex(index(t, has.Type(), m.Field)))
		}
	}
	return r.Bytes()
}

func (r *pageWriter) section(m *setting.Setting, has reflect.Value) {
	s, prefix := m, m.Name+"."
	fmt.Fprintf(&r.Buffer, "\n## %s\n\n%s\n", m.Name, escaped(r.doc(r.T, described().Go, m.Field.Name)))
	if m.Names != nil {
		s, prefix, has = m.Each, prefix+"NAME.", prototype(m.Each.Go)
		fmt.Fprintf(&r.Buffer, "%s\n", escaped(r.doc(r.T, s.Go, "")))
	}
	rows := s.Members
	if at := r.told[s.Go]; at != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(m *setting.Setting) bool {
			return slices.ContainsFunc(r.seen[s.Go], func(o *setting.Setting) bool { return o.Name == m.Name })
		})
		fmt.Fprintf(&r.Buffer, "\nThe settings are [those of %s](#%s), and:\n", at, at)
	} else {
		r.told[s.Go], r.seen[s.Go] = m.Name, rows
	}
	r.WriteString("\n")
	r.rows(prefix, s.Go, rows, has, m.Name)
}

// rows writes the members of a mapping. Those of a type that a section has listed are there.
func (r *pageWriter) rows(prefix string, in reflect.Type, all []*setting.Setting, has reflect.Value, section string) {
	for _, m := range all {
		s, key, value := m, prefix+m.Name, has.FieldByIndex(index(r.T, has.Type(), m.Field))
		about := r.doc(r.T, declared(in, m.Field.Name), m.Field.Name)
		if s.Each != nil && len(s.Each.Members) > 0 && s.Each.Also == nil {
			r.row(prefix, in, m, has)
			if key += "[]"; s.Names != nil {
				key = strings.TrimSuffix(key, "[]") + ".NAME"
			}
			s, value, about = s.Each, prototype(s.Each.Go), r.doc(r.T, s.Each.Go, "")
		}
		if value.Kind() == reflect.Pointer {
			value = reflect.Zero(s.Go)
		}
		switch at := r.told[s.Go]; {
		case len(s.Members) == 0 || s.Also != nil:
			r.row(prefix, in, m, has)
		case at != "":
			fmt.Fprintf(&r.Buffer, "- `%s`: [as for %s](#%s)\n", key, at, at)
		default:
			r.told[s.Go] = section
			fmt.Fprintf(&r.Buffer, "- `%s`: %s\n", key, escaped(about))
			r.rows(key+".", s.Go, s.Members, value, section)
		}
	}
}

// row writes one setting.
func (r *pageWriter) row(prefix string, in reflect.Type, s *setting.Setting, has reflect.Value) {
	about, value, _ := strings.Cut(r.doc(r.T, declared(in, s.Field.Name), s.Field.Name), " Default: ")
	value = strings.TrimSuffix(value, ".")
	if d := r.defaultOf(r.T, s, has.FieldByIndex(index(r.T, has.Type(), s.Field))); len(d) > 0 {
		value = "`" + string(bytes.Trim(d, `"`)) + "`"
	}
	if value != "" {
		value = "; default: " + value
	}
	about = strings.Replace(about, " * stands for any characters.", "", 1)
	if first := r.said[about]; first != "" {
		about = "As `" + first + "`."
	} else {
		r.said[about] = prefix + s.Name
	}
	fmt.Fprintf(&r.Buffer, "- `%s` (%s%s): %s\n", prefix+s.Name, escaped(inHead.Replace(what(s))), escaped(value), escaped(about))
}

// inHead takes out of values what the head of the page says.
var inHead = strings.NewReplacer(" such as 30s or 10m", "", " such as 64MiB", "", "; units are B, KiB, MiB and GiB", "",
	" such as 10/1m, or unlimited: calls, a slash, and a period of up to 24h", ", or unlimited")

// what says what a setting takes.
func what(s *setting.Setting) string {
	all := examples(s)
	switch {
	case s.Enum != nil:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case slices.Equal(s.Types, []string{"boolean"}):
		return "`true`, `false`"
	case s.Title != "":
		return s.Title
	case slices.Contains(s.Types, "integer"):
		return "a number"
	case len(all) > 0:
		return "such as `" + string(bytes.Trim(all[0], `"`)) + "`"
	}
	return "a mapping of names"
}

// escaped is a text on one line of Markdown. What is between backquotes stays as it is.
func escaped(text string) string {
	parts := strings.Split(strings.ReplaceAll(text, "\n", " "), "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
