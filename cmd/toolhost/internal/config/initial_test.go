package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/setting"
)

const initialHead = "# yaml-language-server: $schema=" + SchemaURL + `

# What toolhost runs, how, and who may call it. Every setting is commented out and shows
# its default or an example. To set one, remove the "#" in front of it, and in front of
# the lines above that it belongs to. toolhost config check finds mistakes, and a running
# daemon takes over a changed file as a whole or not at all.
#
# Times are written 30s, 10m, 1h30m; sizes 64KiB, 64MiB, 1GiB. Relative paths are
# relative to this file; ~ at the beginning of a path is the home directory, and ${NAME}
# the value of a variable, which has to be set.
`

// initial returns the file of config init.
func (g *generator) initial(t *testing.T) []byte {
	b := bytes.NewBufferString(initialHead)
	has := reflect.ValueOf(*Default())
	shared := map[string]bool{}
	for _, m := range described().Member("defaults").Members {
		shared[m.Name] = true
	}
	for _, m := range described().Members {
		b.WriteByte('\n')
		g.write(t, b, described().Go, m, has.FieldByIndex(index(t, has.Type(), m.Field)), "", func(one *setting.Setting) bool {
			switch m.Name {
			case "defaults":
				return one.Field.Tag.Get("key") == ""
			case "plugins":
				return !shared[one.Name] || one.Field.Tag.Get("key") != ""
			case "mcp_servers": // apart from what is under defaults
				return !shared[one.Name] || one.Name == "start_timeout"
			}
			return true
		})
	}
	return b.Bytes()
}

// write writes a setting and what is beneath it, if it is chosen, as comments.
func (g *generator) write(t *testing.T, b *bytes.Buffer, in reflect.Type, s *setting.Setting, has reflect.Value, indent string, chosen func(*setting.Setting) bool) {
	for _, line := range wrapped(g.doc(t, declared(in, s.Field.Name), s.Field.Name), 85-len(indent)) {
		if indent == "" {
			fmt.Fprintf(b, "# %s\n", line)
			continue
		}
		fmt.Fprintf(b, "#%s# %s\n", indent, line)
	}
	value := g.defaultOf(t, s, has)
	if all := examples(s); len(value) == 0 && len(all) > 0 {
		value = all[0]
	}
	if len(value) == 0 && len(s.Enum) > 0 {
		value, _ = json.Marshal(s.Enum[0])
	}
	if len(value) > 0 {
		fmt.Fprintf(b, "#%s%s: %s\n", indent, s.Name, bytes.Trim(value, `"`))
		return
	}
	fmt.Fprintf(b, "#%s%s:\n", indent, s.Name)
	if indent += "  "; s.Names != nil {
		fmt.Fprintf(b, "#%s%s:\n", indent, s.Names.Example)
		indent, s, has = indent+"  ", s.Each, prototype(s.Each.Go)
	}
	if has.Kind() == reflect.Pointer {
		has = reflect.Zero(s.Go)
	}
	for _, m := range s.Members {
		if chosen(m) {
			g.write(t, b, s.Go, m, has.FieldByIndex(index(t, has.Type(), m.Field)), indent, chosen)
		}
	}
}

// wrapped returns the lines of a text, of about so many characters each.
func wrapped(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
