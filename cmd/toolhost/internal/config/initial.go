package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// Initial returns a file to start from: every setting of the schema, explained and
// commented out, so that it says what an empty file says.
func Initial() []byte {
	b := bytes.NewBufferString(initialHead)
	for _, m := range root().members {
		b.WriteByte('\n')
		m.write(b, m.name, "", func(s *setting) bool {
			switch m.name {
			case "defaults", "plugins":
				return s.hasDefault() == (m.name == "defaults")
			case "mcp_servers": // apart from what is under defaults
				same := func(d member) bool { return d.Description == s.Description }
				return !slices.ContainsFunc(root().member("defaults").members, same)
			}
			return true
		})
	}
	return b.Bytes()
}

// write writes a setting and what is beneath it, if it is chosen, as comments.
func (s *setting) write(b *bytes.Buffer, key, indent string, chosen func(*setting) bool) {
	for _, line := range wrapped(s.Description, 85-len(indent)) {
		if indent == "" {
			fmt.Fprintf(b, "# %s\n", line)
			continue
		}
		fmt.Fprintf(b, "#%s# %s\n", indent, line)
	}
	value := s.Default
	if value == nil && len(s.Examples) > 0 {
		value = s.Examples[0]
	}
	if value == nil && len(s.Enum) > 0 {
		value, _ = json.Marshal(s.Enum[0])
	}
	if value != nil {
		fmt.Fprintf(b, "#%s%s: %s\n", indent, key, bytes.Trim(value, `"`))
		return
	}
	fmt.Fprintf(b, "#%s%s:\n", indent, key)
	if indent += "  "; s.each != nil {
		key, _ := json.Marshal(s.names.Examples[0])
		fmt.Fprintf(b, "#%s%s:\n", indent, bytes.Trim(key, `"`))
		indent, s = indent+"  ", s.each
	}
	for _, m := range s.members {
		if chosen(m.setting) {
			m.write(b, m.name, indent, chosen)
		}
	}
}

// hasDefault reports whether the schema has the default of a setting, or of all beneath it.
func (s *setting) hasDefault() bool {
	for _, m := range s.members {
		if !m.hasDefault() {
			return false
		}
	}
	return s.Default != nil || len(s.members) > 0
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
